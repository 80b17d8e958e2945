//! The texts of columns written in another way: read in the plain way from a source, or spelled in
//! a notation on their way into a release. Texts that come by number are looked at once.

use super::texts::{Series, Texts, is_same, is_start};
use arrow_array::types::Int32Type;
use arrow_array::{Array, DictionaryArray, Int32Array, StringArray};
use arrow_schema::ArrowError;
use std::borrow::Cow;
use std::sync::Arc;

/// Lists of texts that are remembered: there are as many kinds of them as threads that read.
const KINDS: usize = 16;

/// Writes texts of one column in another way, batch by batch.
#[derive(Debug, Default)]
pub struct Rewriting {
    known: Vec<Known>,
    /// Which of them is given up next.
    next: usize,
}

/// A list of texts, and the same in another way.
#[derive(Debug)]
struct Known {
    texts: StringArray,
    rewritten: StringArray,
    /// Those that cannot be written in another way, ascending. They stay as they are.
    stuck: Vec<i32>,
}

impl Rewriting {
    /// The same column with other texts. `Err` has the first row whose text has no other way.
    pub fn of(
        &mut self,
        series: &Series,
        rewrite: impl Fn(&str) -> Option<Cow<'_, str>>,
    ) -> Result<Result<Series, usize>, ArrowError> {
        match Texts::of(series)? {
            Texts::Plain(texts) => {
                let (rewritten, stuck) = list(&texts, 0, &rewrite);
                Ok(match stuck.first() {
                    None => Ok(Series::Array(Arc::new(rewritten))),
                    Some(row) => Err(*row as usize),
                })
            }
            Texts::Coded(keys, nulls, texts) => {
                let known = self.known(texts, &rewrite);
                let is_there = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
                let is_stuck =
                    |row: &usize| is_there(*row) && known.stuck.binary_search(&keys[*row]).is_ok();
                if !known.stuck.is_empty()
                    && let Some(row) = (0..keys.len()).find(is_stuck)
                {
                    return Ok(Err(row));
                }
                let texts = known.rewritten.clone();
                Ok(Ok(match nulls {
                    None => Series::Numbered(keys, texts),
                    nulls => {
                        let keys = Int32Array::new(keys, nulls);
                        let coded = DictionaryArray::<Int32Type>::try_new(keys, Arc::new(texts))?;
                        Series::Array(Arc::new(coded))
                    }
                }))
            }
        }
    }

    /// A list of texts and the same in another way, of which the first may be known.
    fn known(
        &mut self,
        texts: StringArray,
        rewrite: &impl Fn(&str) -> Option<Cow<'_, str>>,
    ) -> &Known {
        let found = self.known.iter().position(|known| is_start(&known.texts, &texts));
        let at = found.unwrap_or_else(|| {
            self.next =
                if self.known.len() < KINDS { self.known.len() } else { (self.next + 1) % KINDS };
            self.next
        });
        let is_met = found.is_some_and(|at| {
            let known = &self.known[at].texts;
            known.len() == texts.len() || is_same(known, &texts)
        });
        if !is_met {
            let met = found.map(|at| &self.known[at]);
            let start = met.map_or(0, |met| met.texts.len());
            let (more, mut stuck) = list(&texts, start, rewrite);
            let rewritten = match met {
                None => more,
                Some(met) => met.rewritten.iter().chain(more.iter()).collect(),
            };
            stuck.splice(0..0, met.into_iter().flat_map(|met| met.stuck.iter().copied()));
            let known = Known { texts, rewritten, stuck };
            match self.known.get_mut(at) {
                Some(place) => *place = known,
                None => self.known.push(known),
            }
        }
        &self.known[at]
    }
}

/// The texts from one on in another way, and which of them have none.
fn list(
    texts: &StringArray,
    start: usize,
    rewrite: &impl Fn(&str) -> Option<Cow<'_, str>>,
) -> (StringArray, Vec<i32>) {
    let mut stuck = Vec::new();
    let one = |at: usize| {
        let text = texts.is_valid(at).then(|| texts.value(at))?;
        Some(rewrite(text).unwrap_or_else(|| {
            stuck.push(at as i32);
            text.into()
        }))
    };
    ((start..texts.len()).map(one).collect(), stuck)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn doubled(text: &str) -> Option<Cow<'_, str>> {
        (text != "x").then(|| format!("{text}{text}").into())
    }

    /// Lists that grow, of several readers, are rewritten as texts one by one are.
    #[test]
    fn texts_by_number_are_rewritten_as_others_are() {
        let mut random = Random::new(3);
        let mut rewriting = Rewriting::default();
        let mut lists: Vec<Vec<Option<String>>> = vec![Vec::new(); 20];
        for _ in 0..600 {
            let list = &mut lists[random.below(20) as usize];
            for _ in 0..random.below(4) {
                let text = random.below(30);
                list.push((text > 2).then(|| text.to_string()));
            }
            if list.is_empty() {
                continue;
            }
            let texts: StringArray = list.iter().map(Option::as_deref).collect();
            let keys: Vec<i32> = (0..50).map(|_| random.below(texts.len() as u64) as i32).collect();
            let numbered = Series::Numbered(keys.into(), texts);
            let plain = Texts::of(&numbered).unwrap();
            let rewritten = rewriting.of(&numbered, doubled).unwrap().unwrap();
            let rewritten = Texts::of(&rewritten).unwrap();
            for row in 0..50 {
                assert_eq!(rewritten.get(row), plain.get(row).repeat(2));
            }
        }
    }

    #[test]
    fn the_first_row_without_another_way_is_told() {
        let texts = StringArray::from(vec![Some("a"), Some("x"), None, Some("b")]);
        let mut rewriting = Rewriting::default();
        let mut told = |keys: Vec<i32>| {
            let numbered = Series::Numbered(keys.into(), texts.clone());
            rewriting.of(&numbered, doubled).unwrap().map(|_| ())
        };
        // A text that no row has does no harm.
        assert_eq!(told(vec![0, 2, 3]), Ok(()));
        assert_eq!(told(vec![0, 3, 1, 1]), Err(2));
        let series = Series::Array(Arc::new(texts.clone()));
        assert_eq!(Rewriting::default().of(&series, doubled).unwrap().map(|_| ()), Err(1));
    }
}
