//! Gives a core module `cabi_realloc`, which hands out the memory of a variable that the module has, once and in order.
//!
//! The module is a compiler's output; what does not look like one is refused, not repaired. Entries are added behind those of
//! the sections that there are, so that no number in the code changes.

use wasmparser::{ExternalKind, Parser, Payload, TypeRef};

use super::section::number;

/// How the variable begins; no text of a program is this.
pub(super) const MARK: [u8; 16] =
    [0x6d, 0x62, 0xf1, 0x07, 0xa9, 0x5c, 0xe2, 0x11, 0x9d, 0x33, 0xc8, 0x7e, 0x04, 0xb6, 0xfa, 0x58];

/// Bytes of the variable: the adapter wants a page for its state and one for its stack.
pub(super) const RESERVED: u32 = 256 << 10;

/// The numbers of WebAssembly's sections that get an entry.
const TYPES: u8 = 1;
const FUNCTIONS: u8 = 3;
const GLOBALS: u8 = 6;
const EXPORTS: u8 = 7;
const CODE: u8 = 10;

/// What a module has.
#[derive(Default)]
struct Counts {
    types: u32,
    functions: u32,
    globals: u32,
    address: Option<u32>,
    has_realloc: bool,
}

/// Returns the module with the function; nothing when it is not one, or has no such variable.
pub(super) fn add(module: &[u8]) -> Option<Vec<u8>> {
    let counts = count(module)?;
    if counts.has_realloc {
        return Some(module.to_vec());
    }
    let address = counts.address?;
    let (first, end) = (address.checked_add(64)?, address.checked_add(RESERVED)?);
    let mut out = module.get(..8)?.to_vec();
    let (mut at, mut added) = (8, 0);
    while at < module.len() {
        let id = module[at];
        let (size, start) = read_number(module, at + 1)?;
        let body = module.get(start..start.checked_add(size)?)?;
        at = start + size;
        let entry = match id {
            TYPES => vec![0x60, 4, 0x7f, 0x7f, 0x7f, 0x7f, 1, 0x7f],
            FUNCTIONS => unsigned(counts.types),
            GLOBALS => [vec![0x7f, 1, 0x41], signed(first), vec![0x0b]].concat(),
            EXPORTS => [vec![12], b"cabi_realloc".to_vec(), vec![0], unsigned(counts.functions)].concat(),
            CODE => function(counts.globals, end),
            _ => Vec::new(),
        };
        let body = if entry.is_empty() { body.to_vec() } else { with_entry(body, &entry)? };
        added += u32::from(!entry.is_empty());
        out.push(id);
        out.extend(number(body.len()));
        out.extend(body);
    }
    (added == 5).then_some(out)
}

/// Counts what has numbers, and finds the variable.
fn count(module: &[u8]) -> Option<Counts> {
    let mut counts = Counts::default();
    for payload in Parser::new(0).parse_all(module) {
        match payload.ok()? {
            Payload::TypeSection(types) => {
                for group in types {
                    counts.types += u32::try_from(group.ok()?.types().len()).ok()?;
                }
            }
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    match import.ok()?.ty {
                        TypeRef::Func(_) => counts.functions += 1,
                        TypeRef::Global(_) => counts.globals += 1,
                        _ => {}
                    }
                }
            }
            Payload::FunctionSection(functions) => counts.functions += functions.count(),
            Payload::GlobalSection(globals) => counts.globals += globals.count(),
            Payload::ExportSection(exports) => {
                for export in exports {
                    let export = export.ok()?;
                    counts.has_realloc |= export.kind == ExternalKind::Func && export.name == "cabi_realloc";
                }
            }
            Payload::DataSection(data) => {
                for data in data {
                    let data = data.ok()?;
                    if let Some(offset) = data.data.windows(MARK.len()).position(|part| part == MARK) {
                        counts.address = base(&data.kind)?.checked_add(u32::try_from(offset).ok()?);
                    }
                }
            }
            _ => {}
        }
    }
    Some(counts)
}

/// Where data goes that goes to a place that is known.
fn base(kind: &wasmparser::DataKind<'_>) -> Option<u32> {
    let wasmparser::DataKind::Active { memory_index: 0, offset_expr } = kind else { return None };
    match offset_expr.get_operators_reader().read().ok()? {
        wasmparser::Operator::I32Const { value } => Some(value.cast_unsigned()),
        _ => None,
    }
}

/// `cabi_realloc(old, old-size, align, size)`: the next part of the variable. It traps when there is no more, or when something is to
/// grow, which the adapter never asks for.
fn function(global: u32, end: u32) -> Vec<u8> {
    let (global, end) = (unsigned(global), signed(end));
    let code = [
        &[1, 1, 0x7f, 0x20, 0, 0x04, 0x40, 0x00, 0x0b, 0x23],
        global.as_slice(),
        &[0x20, 2, 0x6a, 0x41, 1, 0x6b, 0x41, 0, 0x20, 2, 0x6b, 0x71, 0x22, 4, 0x20, 3, 0x6a, 0x24],
        &global,
        &[0x23],
        &global,
        &[0x41],
        &end,
        &[0x4b, 0x04, 0x40, 0x00, 0x0b, 0x20, 4, 0x0b],
    ]
    .concat();
    [number(code.len()), code].concat()
}

/// A section's body with an entry more.
fn with_entry(body: &[u8], entry: &[u8]) -> Option<Vec<u8>> {
    let (count, start) = read_number(body, 0)?;
    Some([&number(count + 1), &body[start..], entry].concat())
}

fn read_number(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let (mut value, mut shift) = (0_usize, 0);
    loop {
        let byte = *bytes.get(at)?;
        at += 1;
        value |= usize::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            return Some((value, at));
        }
        if shift > 28 {
            return None;
        }
    }
}

fn unsigned(value: u32) -> Vec<u8> {
    number(usize::try_from(value).unwrap_or(usize::MAX))
}

/// A number of 32 bits as a constant has it: signed.
fn signed(value: u32) -> Vec<u8> {
    let mut value = value.cast_signed();
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(value & 0x7f).unwrap_or_default();
        value >>= 7;
        let done = (value == 0 && low & 0x40 == 0) || (value == -1 && low & 0x40 != 0);
        if done {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(variable: &[u8]) -> Vec<u8> {
        let data: String = variable.iter().map(|byte| format!("\\{byte:02x}")).collect();
        let text = format!(
            "(module (import \"a\" \"b\" (func)) (memory (export \"memory\") 8) (global (mut i32) (i32.const 1)) (func (export \"run\"))
               (data (i32.const 4096) \"xx{data}\"))"
        );
        wat::parse_str(text).unwrap()
    }

    #[test]
    fn a_module_gets_a_function_that_is_valid() {
        let made = add(&module(&MARK)).unwrap();
        wasmparser::validate(&made).unwrap();
        let counts = count(&made).unwrap();
        assert!(counts.has_realloc && counts.functions == 3 && counts.globals == 2);
        assert_eq!(counts.address, Some(4098));
        assert_eq!(add(&made).unwrap(), made, "once is enough");
    }

    #[test]
    fn what_has_no_such_variable_or_is_no_module_is_refused() {
        assert_eq!(add(&module(b"another")), None);
        assert_eq!(add(b"\0asm\x01\0\0\0\x01\xff"), None);
        assert_eq!(add(b"#!/bin/sh"), None);
    }

    #[test]
    fn constants_are_signed() {
        assert_eq!((signed(63), signed(64), signed(u32::MAX)), (vec![63], vec![0xc0, 0], vec![0x7f]));
    }
}
