//! Batches in order, while other threads prepare the next ones.

use super::csv::{Parsed, Parser, Parts, RawRecords};
use super::plain::PlainColumns;
use super::{Batch, Lines, Meter, RecordBatches, Series};
use crate::error::{Error, Result};
use crate::watch::Watch;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};

/// The batches of one scan.
pub struct Batches {
    reading: Reading,
    meter: Meter,
    /// Columns that are read in the plain way.
    plain: Option<PlainColumns>,
}

enum Reading {
    /// Each batch can be read when the one before it was.
    InTurn(Box<dyn Iterator<Item = Result<Batch>> + Send>),
    /// Only the file must be read in order; its parts can be parsed by several threads.
    Parted(Box<Parts>, Option<Box<Parser>>),
    Ended,
}

/// The pieces of one record batch.
type Pieces = Box<dyn Iterator<Item = Result<Batch>> + Send>;

/// Rows of a record batch that are handed over at once, which is what most writers of Arrow files
/// put into one. Counting rows takes more memory than the rows themselves.
const LONG: usize = 1 << 16;

impl Batches {
    pub(super) fn parted(parts: Parts, meter: &Meter) -> Batches {
        let reading = Reading::Parted(Box::new(parts), None);
        Batches { reading, meter: meter.clone(), plain: None }
    }

    /// Batches of which each can be read when the one before it was.
    pub(super) fn in_turn(
        batches: impl Iterator<Item = Result<Batch>> + Send + 'static,
        meter: &Meter,
    ) -> Batches {
        Batches { reading: Reading::InTurn(Box::new(batches)), meter: meter.clone(), plain: None }
    }

    /// Record batches, large ones in pieces. `total` is the number of all rows, if known.
    pub(super) fn of_record_batches(
        batches: RecordBatches,
        total: Option<u64>,
        meter: &Meter,
    ) -> Batches {
        let mut row: u64 = 1;
        let pieces = batches.flat_map(move |batch| {
            let first = row;
            let batch = match batch {
                Ok(batch) => batch,
                Err(error) => return Pieces::from(Box::new(std::iter::once(Err(error)))),
            };
            row = row.saturating_add(batch.num_rows() as u64);
            // One after the other: a damaged batch of nulls alone may claim any number of rows.
            let starts = (0..batch.num_rows()).step_by(LONG);
            Box::new(starts.map(move |start| {
                let piece = batch.slice(start, LONG.min(batch.num_rows() - start));
                let lines = Lines::From(first.saturating_add(start as u64));
                Ok(Batch { columns: Series::all(&piece), rows: piece.num_rows(), lines, total })
            }))
        });
        Batches::in_turn(pieces, meter)
    }

    /// The same with some columns in the plain way.
    pub(super) fn in_plain(self, plain: PlainColumns) -> Batches {
        Batches { plain: Some(plain), ..self }
    }
}

impl Iterator for Batches {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Result<Batch>> {
        let next = match &mut self.reading {
            Reading::Ended => None,
            Reading::InTurn(batches) => batches.next(),
            Reading::Parted(parts, parser) => {
                let parser = parser.get_or_insert_with(|| Box::new(parts.parser()));
                let parsed =
                    parts.next().and_then(|part| part.map(|part| parser.parse(part)).transpose());
                parsed.map(|parsed| parsed.map(|parsed| parts.count(parsed))).transpose()
            }
        };
        let next = match &mut self.plain {
            None => next,
            Some(plain) => next.map(|batch| plain.of(batch?)),
        };
        // After an error there is nothing.
        match &next {
            Some(Ok(batch)) => self.meter.add_rows(batch.rows as u64),
            _ => self.reading = Reading::Ended,
        }
        next
    }
}

/// Batches that end with an error once the watch is aborted.
struct Watched<'a> {
    batches: &'a mut dyn Iterator<Item = Result<Batch>>,
    watch: &'a Watch,
    plain: Option<PlainColumns>,
    ended: bool,
}

impl Iterator for Watched<'_> {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Result<Batch>> {
        if self.ended {
            return None;
        }
        let next = match self.watch.check() {
            Ok(()) => self.batches.next(),
            Err(aborted) => Some(Err(aborted)),
        };
        let next = match &mut self.plain {
            None => next,
            Some(plain) => next.map(|batch| plain.of(batch?)),
        };
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

/// Hands over batches in order while other threads read the next ones. They end with an error once
/// the watch is aborted.
pub fn ahead<T>(
    mut batches: Batches,
    watch: &Watch,
    handle: impl FnOnce(&mut dyn Iterator<Item = Result<Batch>>) -> Result<T>,
) -> Result<T> {
    // By the thread that asks, so that texts that come by number are looked at once.
    let plain = batches.plain.take();
    let handle = |batches: &mut dyn Iterator<Item = Result<Batch>>| {
        handle(&mut Watched { batches, watch, plain, ended: false })
    };
    let threads = rayon::current_num_threads();
    match batches.reading {
        _ if threads < 2 => handle(&mut batches),
        Reading::Parted(parts, None) if parts.estimate() > 1 => {
            let helpers = (parts.estimate() - 1).min(threads as u64 - 1);
            Queue::new(*parts, helpers, batches.meter).hand_over(helpers, handle)
        }
        _ => std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::sync_channel(2);
            scope.spawn(move || {
                for batch in batches {
                    // The other side hangs up when it has seen enough, or found an error.
                    if sender.send(batch).is_err() {
                        break;
                    }
                }
            });
            handle(&mut receiver.into_iter())
        }),
    }
}

/// Parts that several threads parse, and that one of them takes in their order.
struct Queue {
    meter: Meter,
    state: Mutex<State>,
    /// Something has changed that somebody may wait for.
    moved: Condvar,
}

struct State {
    parts: Parts,
    /// Parts that were taken to be parsed.
    taken: u64,
    /// Batches that were handed over.
    handed: u64,
    /// What was parsed and not yet handed over.
    parsed: BTreeMap<u64, Result<Parsed>>,
    /// Parts that may be taken before the first of them was handed over.
    most: u64,
    /// No part is left, or nobody wants one.
    ended: bool,
    /// A thread has died, and with it a part.
    broken: bool,
    /// Threads that wait for something to change. Where there is none the system need not be asked
    /// to wake it.
    waiting: u32,
}

impl Queue {
    /// For so many threads beside the one that asks.
    fn new(parts: Parts, helpers: u64, meter: Meter) -> Queue {
        let (parsed, most, ended, broken) = (BTreeMap::new(), 2 * (helpers + 1), false, false);
        Queue {
            meter,
            state: Mutex::new(State {
                parts,
                taken: 0,
                handed: 0,
                parsed,
                most,
                ended,
                broken,
                waiting: 0,
            }),
            moved: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.waiting += 1;
        let mut state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        state
    }

    /// Tells those who wait that something has changed.
    fn tell(&self, state: &State) {
        if state.waiting > 0 {
            self.moved.notify_all();
        }
    }

    fn hand_over<T>(
        &self,
        helpers: u64,
        handle: impl FnOnce(&mut dyn Iterator<Item = Result<Batch>>) -> Result<T>,
    ) -> Result<T> {
        let mut parser = self.state().parts.parser();
        std::thread::scope(|scope| {
            (0..helpers).for_each(|_| {
                scope.spawn(|| self.help());
            });
            // However this ends, nobody must wait for it.
            let _end = End(self);
            handle(&mut std::iter::from_fn(|| self.next(&mut parser)))
        })
    }

    /// Parses parts as long as there are any.
    fn help(&self) {
        let _end = End(self);
        let mut parser = self.state().parts.parser();
        let mut state = self.state();
        while !state.ended {
            if state.is_far_ahead() {
                state = self.wait(state);
            } else if let Some((number, part)) = state.take() {
                state = self.parse(state, &mut parser, number, part);
                self.tell(&state);
            }
        }
    }

    /// Parses a part while others may look at the state.
    fn parse<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        parser: &mut Parser,
        number: u64,
        part: RawRecords,
    ) -> MutexGuard<'a, State> {
        drop(state);
        let parsed = parser.parse(part);
        let mut state = self.state();
        state.parsed.insert(number, parsed);
        state
    }

    /// The next batch; whoever asks for it helps while it is not there.
    fn next(&self, parser: &mut Parser) -> Option<Result<Batch>> {
        let mut state = self.state();
        loop {
            let number = state.handed;
            if let Some(parsed) = state.parsed.remove(&number) {
                state.handed += 1;
                self.tell(&state);
                // After an error there is nothing.
                state.ended |= parsed.is_err();
                let batch = parsed.map(|parsed| state.parts.count(parsed));
                if let Ok(batch) = &batch {
                    self.meter.add_rows(batch.rows as u64);
                }
                return Some(batch);
            }
            if state.broken {
                return Some(Err(Error::Defect));
            }
            if state.taken == state.handed && state.ended {
                return None;
            }
            let part = if state.ended || state.is_far_ahead() { None } else { state.take() };
            match part {
                Some((number, part)) => state = self.parse(state, parser, number, part),
                None if state.parsed.contains_key(&number) || state.taken == number => {}
                None => state = self.wait(state),
            }
        }
    }
}

impl State {
    /// Whether enough parts were taken before the next one is handed over.
    fn is_far_ahead(&self) -> bool {
        self.taken >= self.handed + self.most
    }

    /// Takes the next part to parse it. An error takes its place in the order.
    fn take(&mut self) -> Option<(u64, RawRecords)> {
        let number = self.taken;
        match self.parts.next() {
            Ok(None) => self.ended = true,
            Ok(Some(part)) => {
                self.taken += 1;
                return Some((number, part));
            }
            Err(error) => {
                self.taken += 1;
                self.parsed.insert(number, Err(error));
                self.ended = true;
            }
        }
        None
    }
}

/// Tells the others that a thread has nothing more to do with a queue.
struct End<'a>(&'a Queue);

impl Drop for End<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.broken |= std::thread::panicking();
        state.ended = true;
        self.0.tell(&state);
    }
}

/// Does something with each item, in parallel where there is a thread to spare beside the one that
/// [reads ahead](ahead) and the one that asks: two that share a core are slower than one.
pub(crate) fn spread<T: Send, R: Send>(
    items: Vec<T>,
    each: impl Fn(T) -> R + Send + Sync,
) -> Vec<R> {
    match rayon::current_num_threads() {
        0..=2 => items.into_iter().map(each).collect(),
        _ => items.into_par_iter().map(each).collect(),
    }
}
