//! The command `scumble`: arguments, jobs, output, exit statuses.

mod advise;
mod args;
mod compare;
mod distribution;
mod effect;
mod ends;
mod failure;
mod hierarchy;
mod init;
mod instant;
mod interrupts;
mod memory;
mod page;
mod progress;
mod run;
mod show;

use clap::Parser;
use scumble::Error;
use std::process::ExitCode;

fn main() -> ExitCode {
    // A panic is a defect, and its message could hold somebody's data: it is not shown.
    std::panic::set_hook(Box::new(|_| {}));
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(error) if error.use_stderr() => {
            show::complain(&show::one_line(&error));
            return ExitCode::from(2);
        }
        Err(help_or_version) => {
            let Err(error) = show::print_help(&help_or_version) else { return ExitCode::SUCCESS };
            show::complain(&error.to_string());
            return ExitCode::from(error.status());
        }
    };
    if args.common.memory.is_some() {
        memory::give_back();
    }
    let status = std::panic::catch_unwind(|| run::run(args)).unwrap_or_else(|_| {
        show::complain(&Error::Defect.to_string());
        Error::Defect.kind() as u8
    });
    ExitCode::from(status)
}
