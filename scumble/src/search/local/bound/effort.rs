//! How much work may be done? Counted in steps, so that the answer is the same on every machine; a
//! clock may end it early where one is set.

use crate::error::Result;
use crate::watch::Watch;
use std::time::Instant;

/// Steps between two looks at the clock.
const POLL: u64 = 1 << 16;

/// Work that may be done.
#[derive(Debug)]
pub struct Effort<'a> {
    left: u64,
    until: Option<Instant>,
    unpolled: u64,
    /// Steps so far.
    pub spent: u64,
    watch: &'a Watch,
}

impl<'a> Effort<'a> {
    /// So many steps, and no longer than until a moment.
    pub fn new(steps: u64, until: Option<Instant>, watch: &'a Watch) -> Effort<'a> {
        Effort { left: steps, until, unpolled: 0, spent: 0, watch }
    }

    /// Takes some steps. Says whether more may be done.
    #[inline]
    pub fn spend(&mut self, steps: u64) -> Result<bool> {
        self.spent += steps;
        self.left = self.left.saturating_sub(steps);
        self.unpolled += steps;
        if self.unpolled >= POLL {
            self.poll()?;
        }
        Ok(self.left > 0)
    }

    #[cold]
    fn poll(&mut self) -> Result<()> {
        self.unpolled = 0;
        self.watch.check()?;
        let is_late = self.until.is_some_and(|until| Instant::now() >= until);
        if is_late || self.watch.stopped() {
            self.left = 0;
        }
        Ok(())
    }

    /// Whether so many more steps may be taken.
    pub fn affords(&self, steps: u64) -> bool {
        self.left > steps
    }
}
