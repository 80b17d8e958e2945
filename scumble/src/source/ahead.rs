//! Batches in order, while other threads prepare the next ones.

use super::Batch;
use super::csv::{Parsed, Parser, Part, Parts};
use crate::error::{Error, Result};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};

/// Batches as they are read.
pub struct Batches(Kind);

enum Kind {
    /// Each can be read when the one before it was.
    InTurn(Box<dyn Iterator<Item = Result<Batch>> + Send>),
    /// Only the file must be read in order; its parts can be parsed by several threads.
    Parted(Box<Parts>, Option<Box<Parser>>),
    Ended,
}

impl Batches {
    pub(super) fn in_turn(
        batches: impl Iterator<Item = Result<Batch>> + Send + 'static,
    ) -> Batches {
        Batches(Kind::InTurn(Box::new(batches)))
    }

    pub(super) fn parted(parts: Parts) -> Batches {
        Batches(Kind::Parted(Box::new(parts), None))
    }
}

impl Iterator for Batches {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Result<Batch>> {
        let next = match &mut self.0 {
            Kind::Ended => None,
            Kind::InTurn(batches) => batches.next(),
            Kind::Parted(parts, parser) => {
                let parser = parser.get_or_insert_with(|| Box::new(parts.parser()));
                let parsed =
                    parts.next().and_then(|part| part.map(|part| parser.parse(part)).transpose());
                parsed.map(|parsed| parsed.map(|parsed| parts.count(parsed))).transpose()
            }
        };
        // After an error there is nothing.
        if !matches!(next, Some(Ok(_))) {
            self.0 = Kind::Ended;
        }
        next
    }
}

/// Hands over batches in order, the next ones being read meanwhile where there is a thread for it.
pub fn ahead<T>(
    mut batches: Batches,
    handle: impl FnOnce(&mut dyn Iterator<Item = Result<Batch>>) -> Result<T>,
) -> Result<T> {
    let threads = rayon::current_num_threads();
    match batches.0 {
        _ if threads < 2 => handle(&mut batches),
        Kind::Parted(parts, None) if parts.estimate() > 1 => {
            let helpers = (parts.estimate() - 1).min(threads as u64 - 1);
            Queue::new(*parts, helpers).hand_over(helpers, handle)
        }
        _ => std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::sync_channel(2);
            scope.spawn(move || {
                for batch in batches {
                    // The other side hangs up when it has seen enough, or found an error of its
                    // own.
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
    fn new(parts: Parts, helpers: u64) -> Queue {
        let (parsed, most, ended, broken) = (BTreeMap::new(), 2 * (helpers + 1), false, false);
        Queue {
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
        part: Part,
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
                return Some(parsed.map(|parsed| state.parts.count(parsed)));
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
    fn take(&mut self) -> Option<(u64, Part)> {
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
pub(super) fn spread<T: Send, R: Send>(
    items: Vec<T>,
    each: impl Fn(T) -> R + Send + Sync,
) -> Vec<R> {
    match rayon::current_num_threads() {
        0..=2 => items.into_iter().map(each).collect(),
        _ => items.into_par_iter().map(each).collect(),
    }
}
