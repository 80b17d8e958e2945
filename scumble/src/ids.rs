//! Numbers that must not be mixed up: codes, leaves, cells, classes and rows.
//!
//! Each of them counts from 0 in a list of its own, and all of them fit in 32 bits. As types of
//! their own they cannot be confused: a leaf does not index what belongs to codes, and a cell of a
//! table does not index what belongs to the cells of a search. An [`IdMap`] leads from one kind to
//! another, an [`IdVec`] has a value for each id of a kind.
//!
//! Code that handles a single kind (sorting, counting, packing) works on plain numbers; it gets them
//! from [`IdMap::raw`].

use crate::error::Result;
use crate::watch::Watch;
use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::{Deref, Index, IndexMut};

/// A number of one kind. A plain `u32` is an id of no particular kind.
pub trait Id: Copy {
    /// The id with this number.
    fn new(number: u32) -> Self;

    /// Its number.
    fn number(self) -> u32;

    /// Its number as an index.
    fn index(self) -> usize {
        self.number() as usize
    }

    /// The first `len` ids.
    fn first(len: usize) -> impl ExactSizeIterator<Item = Self> + DoubleEndedIterator + Clone {
        // Ids are 32 bits wide, so no list of them is longer.
        (0..len as u32).map(Self::new)
    }
}

impl Id for u32 {
    #[inline]
    fn new(number: u32) -> u32 {
        number
    }

    #[inline]
    fn number(self) -> u32 {
        self
    }
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl Id for $name {
            #[inline]
            fn new(number: u32) -> $name {
                $name(number)
            }

            #[inline]
            fn number(self) -> u32 {
                self.0
            }
        }
    )*};
}

ids! {
    /// A value of a column, numbered by the column's dictionary in the order of appearance.
    Code;
    /// A leaf of a column's tree, in depth-first order. Several codes can have the same leaf, and
    /// requirements know sensitive values by their leaves. A column that is counted without a tree
    /// uses its codes as leaves.
    LeafId;
    /// A row of a table, in the order of the input.
    RowId;
    /// A cell of a table: a distinct tuple of codes.
    TableCellId;
    /// A cell of a search: a distinct tuple of leaves. Several cells of a table can become one, and
    /// the cells of a population follow those of the table.
    CellId;
    /// A class of a release: a distinct tuple of recoded values.
    ClassId;
}

/// A map from all ids of one kind to another kind, such as the leaf of each code. `S` stores the
/// numbers: a vector, or a slice that is borrowed from elsewhere.
#[derive(Debug, PartialEq, Eq)]
pub struct IdMap<F, T, S = Vec<u32>> {
    numbers: S,
    kinds: PhantomData<(F, T)>,
}

impl<F, T> IdMap<F, T> {
    /// A map from id `i` to the id with the number `numbers[i]`. Nothing checks that these are
    /// numbers of the kind `T`: this is where plain numbers get their kind.
    pub fn new(numbers: Vec<u32>) -> IdMap<F, T> {
        IdMap { numbers, kinds: PhantomData }
    }

    /// The numbers, to be filled by code that knows no kinds.
    pub fn raw_mut(&mut self) -> &mut Vec<u32> {
        &mut self.numbers
    }
}

impl<F: Id, T: Id> IdMap<F, T> {
    /// Changes what an id leads to.
    pub fn set(&mut self, from: F, to: T) {
        self.numbers[from.index()] = to.number();
    }

    /// Adds the next id.
    pub fn push(&mut self, to: T) {
        self.numbers.push(to.number());
    }
}

impl<F: Id, T: Id, S: Deref<Target = [u32]>> IdMap<F, T, S> {
    /// What an id leads to.
    #[inline]
    pub fn at(&self, from: F) -> T {
        T::new(self.numbers[from.index()])
    }

    /// What an id leads to, if the map reaches so far.
    pub fn get(&self, from: F) -> Option<T> {
        self.numbers.get(from.index()).map(|number| T::new(*number))
    }

    /// How many ids it leads from.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether it leads from none.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// What each id leads to, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = T> + DoubleEndedIterator + Clone {
        self.numbers.iter().map(|number| T::new(*number))
    }

    /// Each id and what it leads to, in order.
    pub fn pairs(&self) -> impl ExactSizeIterator<Item = (F, T)> + Clone {
        F::first(self.len()).zip(self.iter())
    }

    /// The plain numbers, for code that knows no kinds.
    pub fn raw(&self) -> &[u32] {
        &self.numbers
    }

    /// The map that goes on with another one, unless the job is aborted.
    pub fn then<U: Id>(&self, next: &IdMap<T, U>, watch: &Watch) -> Result<IdMap<F, U>> {
        Ok(IdMap::new(watch.list(self.iter().map(|id| next.at(id).number()))?))
    }

    /// The same, borrowed from this map if the other one changes no number.
    pub fn then_if_changed<U: Id>(
        &self,
        next: &IdMap<T, U>,
        watch: &Watch,
    ) -> Result<IdMap<F, U, Cow<'_, [u32]>>> {
        let is_same = next.raw().iter().copied().eq(0..next.len() as u32);
        let numbers = if is_same {
            Cow::Borrowed(self.raw())
        } else {
            Cow::Owned(self.then(next, watch)?.numbers)
        };
        Ok(IdMap { numbers, kinds: PhantomData })
    }
}

impl<F, T> Default for IdMap<F, T> {
    fn default() -> IdMap<F, T> {
        IdMap::new(Vec::new())
    }
}

impl<F, T, S: Clone> Clone for IdMap<F, T, S> {
    fn clone(&self) -> IdMap<F, T, S> {
        IdMap { numbers: self.numbers.clone(), kinds: PhantomData }
    }
}

impl<F: Id, T: Id> FromIterator<T> for IdMap<F, T> {
    fn from_iter<I: IntoIterator<Item = T>>(ids: I) -> IdMap<F, T> {
        IdMap::new(ids.into_iter().map(T::number).collect())
    }
}

/// A value for each id of a kind, such as whether a class is released.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdVec<K, V> {
    values: Vec<V>,
    kind: PhantomData<K>,
}

impl<K: Id, V> IdVec<K, V> {
    /// The same value for each of the first `len` ids.
    pub fn repeat(value: V, len: usize) -> IdVec<K, V>
    where
        V: Clone,
    {
        IdVec { values: vec![value; len], kind: PhantomData }
    }

    /// The values in order, without their ids.
    pub fn values(&self) -> &[V] {
        &self.values
    }

    /// Each id with its value, in order.
    pub fn pairs(&self) -> impl ExactSizeIterator<Item = (K, &V)> + Clone {
        K::first(self.values.len()).zip(&self.values)
    }
}

impl<K, V> FromIterator<V> for IdVec<K, V> {
    fn from_iter<I: IntoIterator<Item = V>>(values: I) -> IdVec<K, V> {
        IdVec { values: values.into_iter().collect(), kind: PhantomData }
    }
}

impl<K: Id, V> Index<K> for IdVec<K, V> {
    type Output = V;

    #[inline]
    fn index(&self, id: K) -> &V {
        &self.values[id.index()]
    }
}

impl<K: Id, V> IndexMut<K> for IdVec<K, V> {
    #[inline]
    fn index_mut(&mut self, id: K) -> &mut V {
        &mut self.values[id.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_are_composed() {
        let leaf_of: IdMap<Code, LeafId> = IdMap::new(vec![1, 0, 1]);
        let codes: IdMap<RowId, Code> = [Code(2), Code(1), Code(2), Code(0)].into_iter().collect();
        let leaves = codes.then(&leaf_of, &Watch::default()).unwrap();
        assert_eq!(leaves.raw(), [1, 0, 1, 1]);
        assert_eq!(leaves.at(RowId(1)), LeafId(0));
        assert_eq!(codes.then_if_changed(&leaf_of, &Watch::default()).unwrap().raw(), leaves.raw());
        assert_eq!(leaves.pairs().last(), Some((RowId(3), LeafId(1))));
    }

    #[test]
    fn what_changes_nothing_is_borrowed() {
        let cells: IdMap<RowId, TableCellId> = IdMap::new(vec![1, 0, 1]);
        let leaf_cell: IdMap<TableCellId, CellId> = IdMap::new(vec![0, 1]);
        let cells_of_search = cells.then_if_changed(&leaf_cell, &Watch::default()).unwrap();
        assert!(matches!(cells_of_search.numbers, Cow::Borrowed(_)));
        assert_eq!(cells_of_search.raw(), cells.raw());
    }
}
