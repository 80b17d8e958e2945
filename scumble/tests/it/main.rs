//! All integration tests, in one binary: it links the library once.
//!
//! | module | what it asks |
//! |---|---|
//! | `oracle`, `exact` | the textbook, written again without the library: definitions, no speed |
//! | `fixture` | files in a temporary folder, and the library's way from them to an answer |
//! | `tables` | random tables, hierarchies and requirements |
//! | `optimum` | is the optimum the optimum? |
//! | `transport` | is a distance between distributions the work of moving one to the other? |
//! | `mondrian`, `partition`, `said` | is a partition the one that is described, minimal, and called by true names? |
//! | `rothko`, `disk` | is a partition on disk the one in memory, or another that is as good? |
//! | `beyond` | does local recoding keep its promises if the table exceeds the memory? |
//! | `papers` | do the worked examples of the papers come out? |
//! | `adult`, `brute` | does all that hold on a real table? |
//! | `presence`, `confident` | is everybody present within the range, for certain or in likely worlds, at the least cost? |
//! | `cuts` | is the best cut the best of all? |
//! | `buckets` | do subdomains and fakes follow the target at the least cost? |
//! | `distribution` | do releases that follow a target hold the truth, whatever the table and the policy? |
//! | `worlds` | do bounds of queries hold in every world, and is each reached? |
//! | `portrait` | does a portrait tell what the written tables hold? |
//! | `recount` | is a release counted rightly, however its rows lie and however little memory there is? |
//! | `buffers` | is anything of a suppressed row, or of a value set to null, left in a release? |
//! | `suppressed` | do suppressed rows change how the others are judged, written or ordered? |
//! | `instant` | is what is believed what a summary says, and does what is released by belief hold? |
//! | `golden` | are decisions the same as yesterday? |
//! | `asked` | is a release judged by everything that was asked, whoever made the policy? |
//! | `remedies` | does every change that is offered help, and is it the smallest of its kind? |
//! | `bound` | is the lower bound of local recoding below every release? |
//! | `sets` | do local recodings lose the least with sets, and do sets survive whatever a value is? |
//! | `weights` | does every search heed the weights of columns, or say that it does not? |
//! | `notation` | is a table in a notation released as the same table in the plain way is? |
//! | `ends` | does a job give the same from any source into any sink, and do meters count what happened? |
//! | `faults` | what if a source or a sink misbehaves, fails in the middle, or the job is aborted? |
//! | `corpus` | are damaged files, policies and queries refused calmly, whatever the damage? |
//! | `docs` | do the documents say what the program does? |
//! | `abort` | does an abort end every search, and never with part of an answer? |
//! | `layers` | does a room know only those before it? |
//! | `large` | is the release the same if the table exceeds the memory? |
//! | `lines` | is the first bad line named, and are columns without any value read? |

mod abort;
mod adult;
mod asked;
mod beyond;
mod bound;
mod brute;
mod buckets;
mod buffers;
mod confident;
mod corpus;
mod cuts;
mod disk;
mod distribution;
mod docs;
mod ends;
mod exact;
mod faults;
mod fixture;
mod golden;
mod instant;
mod large;
mod layers;
mod lines;
mod local;
mod mondrian;
mod notation;
mod optimum;
mod oracle;
mod papers;
mod partition;
mod portrait;
mod presence;
mod recount;
mod remedies;
mod rothko;
mod said;
mod sets;
mod suppressed;
mod tables;
mod transport;
mod weights;
mod worlds;
