//! Plays, inventories and templates. What of it needs other compilers or a browser.

pub(crate) mod play_page;
