//! Which names are methods of Python's types. An attribute of such a name is the method, even if a dict has the key.

use minijinja::Value;
use modbox_jinja::values::{Range, View, view};

use crate::objects::{Cycler, LoopContext};

const STR: &str = "capitalize casefold center count encode endswith expandtabs find format format_map index isalnum \
                   isalpha isascii isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle isupper \
                   join ljust lower lstrip maketrans partition removeprefix removesuffix replace rfind rindex rjust \
                   rpartition rsplit rstrip split splitlines startswith strip swapcase title translate upper zfill";
const LIST: &str = "append clear copy count extend index insert pop remove reverse sort";
const TUPLE: &str = "count index";
const DICT: &str = "clear copy fromkeys get items keys pop popitem setdefault update values";
const INT: &str = "as_integer_ratio bit_count bit_length conjugate from_bytes to_bytes";
const FLOAT: &str = "as_integer_ratio conjugate fromhex hex is_integer";
const BYTES: &str = "decode hex startswith endswith split strip join replace find count index upper lower";
const DATE: &str = "ctime isocalendar isoformat isoweekday replace strftime timetuple toordinal weekday";
const DATETIME: &str = "astimezone date dst time timestamp timetz tzname utcoffset utctimetuple";
const TIME: &str = "dst isoformat replace strftime tzname utcoffset";
const TIMEDELTA: &str = "total_seconds";

/// Methods that change a list or a dict.
const CHANGING: &str = "append clear extend insert pop popitem remove reverse setdefault sort update";

/// Says whether a name is a method of a value's type.
pub(crate) fn is_method(value: &Value, name: &str) -> bool {
    let has = |names: &str| names.split_ascii_whitespace().any(|known| known == name);
    match view(value) {
        View::Str(_) | View::Surrogates(_) => has(STR),
        View::List => has(LIST),
        View::Tuple => has(TUPLE),
        View::Dict => has(DICT),
        View::Int(_) | View::Long(_) | View::Bool(_) => has(INT),
        View::Float(_) => has(FLOAT),
        View::Bytes(_) => has(BYTES),
        View::Date(_) => has(DATE),
        View::DateTime(_) => has(DATE) || has(DATETIME),
        View::Time(_) => has(TIME),
        View::TimeDelta(_) => has(TIMEDELTA),
        View::Other => {
            (value.downcast_object_ref::<LoopContext>().is_some() && has("cycle changed"))
                || (value.downcast_object_ref::<Cycler>().is_some() && has("next reset"))
                || (value.downcast_object_ref::<Range>().is_some() && has(TUPLE))
        }
        View::Undefined | View::None => false,
    }
}

/// Says whether a method changes its list or dict.
pub(crate) fn changes(name: &str) -> bool {
    CHANGING.split_ascii_whitespace().any(|known| known == name)
}
