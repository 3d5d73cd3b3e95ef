//! Asking a person for what a module lacks: `modbox run --ask`, `modbox play --ask`, and the tools of an agent.
//!
//! The kernel cannot wait for an answer in the middle of a native module, so no run pauses. A run that lacks something is made on
//! views or as a transaction, is dropped, and is made again from its start with what a person has granted. An answer is bound to the
//! digest of the module.
//!
//! | file | content |
//! |---|---|
//! | `wish` | what a run lacks, as grants that one answer gives |
//! | `limits` | what a person is not asked for |
//! | `own_files` | what decides about grants, so that no grant reaches it |
//! | `facts` | what is known of a run, and decides about questions |
//! | `question` | the text of a question on a terminal |
//! | `answer_file` | an answer for good, as a file |
//! | `session` | the questions and answers of one process on a terminal |
//! | `rounds` | from a run that has ended to its questions |

pub(crate) mod answer_file;
pub(crate) mod facts;
pub(crate) mod limits;
pub(crate) mod own_files;
pub(crate) mod question;
pub(crate) mod rounds;
pub(crate) mod session;
pub(crate) mod wish;
