//! The command line as a script, a clumsy user and an attacker see it: what is typed, what is
//! written, what is said.

mod bad_input;
mod bed;
mod compare;
mod distribution;
mod encodings;
mod extra_suppression;
mod flags;
mod formats;
mod generate;
mod golden;
mod golden_cases;
mod help;
mod hierarchy;
mod init;
mod instant;
mod json_lines;
mod killed;
mod l_plus;
mod memory;
mod notation;
mod outputs;
mod page;
mod pages;
mod partition;
mod presence;
mod private;
mod readme;
mod release;
mod remedies;
mod rothko;
mod standard_output;
mod tamper;
mod terminal;
mod texts;
mod workbooks;
