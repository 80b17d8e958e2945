//! The command `scumble`: arguments, jobs, what is shown, exit statuses.

mod args;
mod bench;
mod run;
mod show;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // Clap's own message; help and version go to standard output and are no failure.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    ExitCode::from(run::run(args))
}
