//! The footer and the page headers of a Parquet file, looked at before Parquet's reader sees them.
//!
//! Both are structs in Thrift's compact protocol. Parquet's reader makes room for as many columns
//! as an element of the schema claims, calls itself for each level of the schema, and skips fields
//! that it does not know. There, a list of flags takes no bytes: a few bytes can claim more flags
//! than can be skipped in years. So all claims are compared with the bytes that are there.
//!
//! Parquet's reader takes the type of a field that it knows for granted. The fields that it knows
//! are therefore listed here and must have their types, or the two would read different things.

/// How a value is stored.
#[derive(Clone, Copy)]
enum Wire {
    /// A truth value, which is part of the field's type.
    Flag,
    Byte,
    /// A number of any length.
    Number,
    /// The number of children of an element of the schema.
    Children,
    Double,
    /// Bytes or a text.
    Binary,
    Struct(&'static [(i16, Wire)]),
    List(&'static Wire),
    /// The list of the elements of the schema.
    Schema,
}

use Wire::{Binary, Byte, Children, Double, Flag, List, Number, Schema, Struct};

const EMPTY: Wire = Struct(&[]);
const UNIT: Wire = Struct(&[(1, EMPTY), (2, EMPTY), (3, EMPTY)]);
const TIME: Wire = Struct(&[(1, Flag), (2, UNIT)]);
const LOGICAL_TYPE: Wire = Struct(&[
    (1, EMPTY),
    (2, EMPTY),
    (3, EMPTY),
    (4, EMPTY),
    (5, Struct(&[(1, Number), (2, Number)])),
    (6, EMPTY),
    (7, TIME),
    (8, TIME),
    (10, Struct(&[(1, Byte), (2, Flag)])),
    (11, EMPTY),
    (12, EMPTY),
    (13, EMPTY),
    (14, EMPTY),
    (15, EMPTY),
    (16, Struct(&[(1, Byte)])),
    (17, Struct(&[(1, Binary)])),
    (18, Struct(&[(1, Binary), (2, Number)])),
    (19, EMPTY),
]);
const SCHEMA_ELEMENT: &[(i16, Wire)] = &[
    (1, Number),
    (2, Number),
    (3, Number),
    (4, Binary),
    (5, Children),
    (6, Number),
    (7, Number),
    (8, Number),
    (9, Number),
    (10, LOGICAL_TYPE),
];
const STATISTICS: Wire = Struct(&[
    (1, Binary),
    (2, Binary),
    (3, Number),
    (4, Number),
    (5, Binary),
    (6, Binary),
    (7, Flag),
    (8, Flag),
    (9, Number),
]);
const BOX: Wire = Struct(&[
    (1, Double),
    (2, Double),
    (3, Double),
    (4, Double),
    (5, Double),
    (6, Double),
    (7, Double),
    (8, Double),
]);
const KEY_AND_VALUE: Wire = Struct(&[(1, Binary), (2, Binary)]);
const COLUMN: Wire = Struct(&[
    (1, Number),
    (2, List(&Number)),
    (3, List(&Binary)),
    (4, Number),
    (5, Number),
    (6, Number),
    (7, Number),
    (8, List(&KEY_AND_VALUE)),
    (9, Number),
    (10, Number),
    (11, Number),
    (12, STATISTICS),
    (13, List(&Struct(&[(1, Number), (2, Number), (3, Number)]))),
    (14, Number),
    (15, Number),
    (16, Struct(&[(1, Number), (2, List(&Number)), (3, List(&Number))])),
    (17, Struct(&[(1, BOX), (2, List(&Number))])),
]);
const CHUNK: Wire = Struct(&[
    (1, Binary),
    (2, Number),
    (3, COLUMN),
    (4, Number),
    (5, Number),
    (6, Number),
    (7, Number),
    (9, Binary),
]);
const ROW_GROUP: Wire = Struct(&[
    (1, List(&CHUNK)),
    (2, Number),
    (3, Number),
    (4, List(&Struct(&[(1, Number), (2, Flag), (3, Flag)]))),
    (5, Number),
    (6, Number),
    (7, Number),
]);
const FOOTER: &[(i16, Wire)] = &[
    (1, Number),
    (2, Schema),
    (3, Number),
    (4, List(&ROW_GROUP)),
    (5, List(&KEY_AND_VALUE)),
    (6, Binary),
    (7, List(&Struct(&[(1, EMPTY), (2, EMPTY), (3, EMPTY)]))),
    (9, Binary),
];
const PAGE_HEADER: &[(i16, Wire)] = &[
    (1, Number),
    (2, Number),
    (3, Number),
    (4, Number),
    (5, Struct(&[(1, Number), (2, Number), (3, Number), (4, Number), (5, STATISTICS)])),
    (6, EMPTY),
    (7, Struct(&[(1, Number), (2, Number), (3, Flag)])),
    (
        8,
        Struct(&[
            (1, Number),
            (2, Number),
            (3, Number),
            (4, Number),
            (5, Number),
            (6, Number),
            (7, Flag),
            (8, STATISTICS),
        ]),
    ),
];

/// Structs and lists inside one another. Parquet's reader skips 64 levels.
const NESTED: u32 = 80;

/// Levels of a schema. Parquet's reader calls itself for each.
const DEEPEST: usize = 128;

/// Elements of lists that a page header may have: there are none in any version of the format.
const ELEMENTS_OF_HEADER: u64 = 1 << 16;

/// What is wrong with a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// The bytes end before it does.
    Short,
    /// It is not what it must be, or claims more than it can have.
    Damaged,
}

/// Looks at a whole footer. Every element of a list takes a byte at least.
pub(super) fn check_footer(bytes: &[u8]) -> Result<(), Flaw> {
    Thrift { rest: bytes, elements: bytes.len() as u64, children: 0 }.fields(FOOTER, NESTED)
}

/// Looks at the header at the beginning of some bytes.
pub(super) fn check_page_header(bytes: &[u8]) -> Result<(), Flaw> {
    let elements = ELEMENTS_OF_HEADER;
    Thrift { rest: bytes, elements, children: 0 }.fields(PAGE_HEADER, NESTED)
}

impl Wire {
    /// Whether a value of this kind can have a type by number.
    fn is(self, number: u8) -> bool {
        match self {
            Flag => matches!(number, 1 | 2),
            Byte => number == 3,
            Number | Children => matches!(number, 4..=6),
            Double => number == 7,
            Binary => number == 8,
            List(_) | Schema => number == 9,
            Struct(_) => number == 12,
        }
    }
}

/// Bytes that are being read.
struct Thrift<'a> {
    rest: &'a [u8],
    /// Elements of lists that may still come.
    elements: u64,
    /// What the last element of the schema claimed.
    children: i32,
}

impl Thrift<'_> {
    fn byte(&mut self) -> Result<u8, Flaw> {
        let (first, rest) = self.rest.split_first().ok_or(Flaw::Short)?;
        self.rest = rest;
        Ok(*first)
    }

    /// A number of seven bits to the byte, the lowest first.
    fn number(&mut self) -> Result<u64, Flaw> {
        let mut number: u64 = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Flaw::Damaged)
    }

    /// A number with a sign, which is its lowest bit.
    fn signed(&mut self) -> Result<i64, Flaw> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    fn skip(&mut self, bytes: u64) -> Result<(), Flaw> {
        let rest = usize::try_from(bytes).ok().and_then(|bytes| self.rest.get(bytes..));
        self.rest = rest.ok_or(Flaw::Short)?;
        Ok(())
    }

    /// The fields of a struct, up to its end.
    fn fields(&mut self, known: &[(i16, Wire)], depth: u32) -> Result<(), Flaw> {
        let depth = depth.checked_sub(1).ok_or(Flaw::Damaged)?;
        let mut id: i16 = 0;
        loop {
            let start = self.byte()?;
            let (step, number) = (i16::from(start >> 4), start & 0x0F);
            if number == 0 {
                return Ok(());
            }
            id = match step {
                // Parquet's reader cuts it to 16 bits.
                0 => self.signed()? as i16,
                step => id.checked_add(step).ok_or(Flaw::Damaged)?,
            };
            let wire = known.iter().find(|(known, _)| *known == id).map(|(_, wire)| *wire);
            self.value(number, wire, depth)?;
        }
    }

    /// A value whose type has a number, of a kind that is known or of any.
    fn value(&mut self, number: u8, wire: Option<Wire>, depth: u32) -> Result<(), Flaw> {
        if wire.is_some_and(|wire| !wire.is(number)) {
            return Err(Flaw::Damaged);
        }
        match number {
            1 | 2 => Ok(()),
            3 => self.byte().map(|_| ()),
            4..=6 => {
                let signed = self.signed()?;
                if let Some(Children) = wire {
                    // Parquet's reader cuts it to 32 bits.
                    self.children = signed as i32;
                }
                Ok(())
            }
            7 => self.skip(8),
            8 => {
                let length = self.number()?;
                self.skip(length)
            }
            9 | 10 => self.list(wire, depth),
            11 => self.map(depth),
            12 => {
                let fields = if let Some(Struct(fields)) = wire { fields } else { &[] };
                self.fields(fields, depth)
            }
            13 => self.skip(16),
            _ => Err(Flaw::Damaged),
        }
    }

    /// Takes elements from those that may still come.
    fn take(&mut self, elements: u64) -> Result<(), Flaw> {
        self.elements = self.elements.checked_sub(elements).ok_or(Flaw::Damaged)?;
        Ok(())
    }

    fn list(&mut self, wire: Option<Wire>, depth: u32) -> Result<(), Flaw> {
        let depth = depth.checked_sub(1).ok_or(Flaw::Damaged)?;
        let start = self.byte()?;
        // Some writers have no type for an empty list.
        if start == 0 {
            return Ok(());
        }
        let number = start & 0x0F;
        let elements = match u64::from(start >> 4) {
            15 => self.number()?,
            few => few,
        };
        self.take(elements)?;
        let element = match wire {
            Some(Schema) if number == 12 => return self.schema(elements, depth),
            Some(Schema) => return Err(Flaw::Damaged),
            Some(List(element)) => Some(*element),
            _ => None,
        };
        (0..elements).try_for_each(|_| self.value(number, element, depth))
    }

    fn map(&mut self, depth: u32) -> Result<(), Flaw> {
        let depth = depth.checked_sub(1).ok_or(Flaw::Damaged)?;
        let pairs = self.number()?;
        if pairs == 0 {
            return Ok(());
        }
        self.take(pairs.saturating_mul(2))?;
        let types = self.byte()?;
        (0..pairs).try_for_each(|_| {
            self.value(types >> 4, None, depth)?;
            self.value(types & 0x0F, None, depth)
        })
    }

    /// The elements of the schema. Each is followed by as many others as it claims to have
    /// children, with all that belongs to them.
    fn schema(&mut self, elements: u64, depth: u32) -> Result<(), Flaw> {
        // Elements that no other has claimed, and the children that are still to come on each level.
        let (mut free, mut open) = (elements.saturating_sub(1), Vec::<u64>::new());
        for _ in 0..elements {
            self.children = 0;
            self.fields(SCHEMA_ELEMENT, depth)?;
            while open.last() == Some(&0) {
                open.pop();
            }
            if let Some(left) = open.last_mut() {
                *left -= 1;
            }
            // Parquet's reader refuses a negative number.
            let children = u64::try_from(self.children).unwrap_or(0);
            free = free.checked_sub(children).ok_or(Flaw::Damaged)?;
            if children > 0 {
                open.push(children);
            }
            if open.len() > DEEPEST {
                return Err(Flaw::Damaged);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A schema: for each element, how many children it claims.
    fn footer(children: &[u64]) -> Vec<u8> {
        let varint = |mut number: u64| {
            let mut bytes = Vec::new();
            while number >= 0x80 {
                bytes.push(number as u8 | 0x80);
                number >>= 7;
            }
            bytes.push(number as u8);
            bytes
        };
        // The second field is a list of structs.
        let mut bytes = vec![0x29, 0xFC];
        bytes.extend(varint(children.len() as u64));
        for number in children {
            // A name, which is the fourth field; the next one has the children.
            bytes.extend([0x48, 1, b'x', 0x15]);
            bytes.extend(varint(number * 2));
            bytes.push(0);
        }
        bytes.push(0);
        bytes
    }

    #[test]
    fn a_schema_cannot_claim_more_children_than_it_has_elements() {
        assert_eq!(check_footer(&footer(&[2, 0, 0])), Ok(()));
        assert_eq!(check_footer(&footer(&[2, 1, 0, 1, 0])), Ok(()));
        assert_eq!(check_footer(&footer(&[3, 0, 0])), Err(Flaw::Damaged));
        assert_eq!(check_footer(&footer(&[2, 1 << 29, 0])), Err(Flaw::Damaged));
    }

    /// Each level is a call of Parquet's reader: a million of them overflow any stack.
    #[test]
    fn a_schema_cannot_be_as_deep_as_it_likes() {
        let chain = |levels: usize| {
            let mut children = vec![1; levels];
            children.push(0);
            footer(&children)
        };
        assert_eq!(check_footer(&chain(DEEPEST)), Ok(()));
        assert_eq!(check_footer(&chain(DEEPEST + 1)), Err(Flaw::Damaged));
        assert_eq!(check_footer(&chain(1 << 20)), Err(Flaw::Damaged));
    }

    #[test]
    fn lists_of_flags_cannot_claim_more_than_there_are_bytes() {
        // An unknown field, the fifteenth: a list of lists of flags.
        let list = |flags: u8| [0xF9, 0x29, 0xF1, flags, 0xF1, flags, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(check_footer(&list(2)), Ok(()));
        assert_eq!(check_footer(&list(100)), Err(Flaw::Damaged));
        let many = [0xF9, 0xF1, 0xFF, 0xFF, 0xFF, 0xFF, 0x07, 0];
        assert_eq!(check_page_header(&many), Err(Flaw::Damaged));
    }

    #[test]
    fn a_known_field_has_its_type() {
        // The first field of a page header is a number, not a list or a struct.
        assert_eq!(check_page_header(&[0x15, 2, 0]), Ok(()));
        assert_eq!(check_page_header(&[0x1C, 2, 0]), Err(Flaw::Damaged));
        assert_eq!(check_page_header(&[0x19, 0, 0]), Err(Flaw::Damaged));
        assert_eq!(check_page_header(&[0x15, 2]), Err(Flaw::Short));
    }
}
