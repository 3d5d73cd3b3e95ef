//! Providers of libral: what they say about themselves, which of them there are, and their actions under a policy.
//!
//! A provider runs as a module of its kind. `describe` finds its metadata: in the file beside it, in its section, in the
//! cache, or by asking it, without any grant. `admit` computes the grants of one action: the paths in attributes that
//! have an access, and nothing that writes if nothing may change. `resources` makes an update of several actions; `manage`
//! does what a task asks for, and makes a module's result of the answer.
//!
//! The rules of libral's conventions are in the crate `modbox-providers`; the command line is not known here.

mod admit;
mod catalogue;
mod describe;
mod descriptions;
mod discovery;
pub(crate) mod environment;
mod manage;
mod noop;
mod options;
mod resource_request;
mod resources;
mod tips;

pub use self::catalogue::{Catalogue, Provider, ProviderProblem};
pub use self::descriptions::clear as clear_descriptions;
pub use self::discovery::provider_files;
pub use self::environment::lens_grants;
pub use self::manage::{Managed, Unmanaged};
pub use self::resource_request::ResourceRequest;
pub use self::resources::{Answer, Update};
pub use self::tips::{attribute_message, selection_message};
