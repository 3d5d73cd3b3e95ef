//! Adds a `cabi_realloc` to a core module. It hands out the memory of a variable in the module, each part once and in
//! order.
//!
//! The module is a compiler's output; other input is refused and not repaired. Entries are added at the end of existing
//! sections, so that no index in the code changes.

use std::convert::Infallible;

use wasm_encoder::reencode::{self, Reencode};
use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, ExportKind, ExportSection, Function, FunctionSection, GlobalSection, GlobalType,
    Module, TypeSection, ValType,
};
use wasmparser::{ExternalKind, Parser, Payload, TypeRef};

/// First bytes of the variable, which no text of a program contains.
pub(crate) const MARK: [u8; 16] =
    [0x6d, 0x62, 0xf1, 0x07, 0xa9, 0x5c, 0xe2, 0x11, 0x9d, 0x33, 0xc8, 0x7e, 0x04, 0xb6, 0xfa, 0x58];

/// Size of the variable in bytes: the adapter needs a page for its state and one for its stack.
pub(crate) const RESERVED: u32 = 256 << 10;

/// Numbers of entries in a module, and the address of the variable.
#[derive(Default)]
struct Counts {
    types: u32,
    functions: u32,
    globals: u32,
    address: Option<u32>,
    has_realloc: bool,
}

/// Returns the module with the function, or `None` if it is not a module or lacks the variable.
pub(super) fn add(module: &[u8]) -> Option<Vec<u8>> {
    let counts = count(module)?;
    if counts.has_realloc {
        return Some(module.to_vec());
    }
    let address = counts.address?;
    let (first, end) = (address.checked_add(64)?, address.checked_add(RESERVED)?);
    let mut adding = Addition { counts, first, end, added: 0 };
    let mut out = Module::new();
    adding.parse_core_module(&mut out, Parser::new(0), module).ok()?;
    (adding.added == 5).then(|| out.finish())
}

/// Encoder that copies a module and adds one entry to each of five sections.
struct Addition {
    counts: Counts,
    /// First address of the memory to hand out.
    first: u32,
    /// Address behind the last one.
    end: u32,
    /// Number of sections that got their entry.
    added: u32,
}

/// Result of copying a section. Only reading can fail.
type Copied = Result<(), reencode::Error<Infallible>>;

impl Reencode for Addition {
    type Error = Infallible;

    fn parse_type_section(&mut self, to: &mut TypeSection, from: wasmparser::TypeSectionReader<'_>) -> Copied {
        reencode::utils::parse_type_section(self, to, from)?;
        to.ty().function([ValType::I32; 4], [ValType::I32]);
        self.added += 1;
        Ok(())
    }

    fn parse_function_section(
        &mut self,
        to: &mut FunctionSection,
        from: wasmparser::FunctionSectionReader<'_>,
    ) -> Copied {
        reencode::utils::parse_function_section(self, to, from)?;
        to.function(self.counts.types);
        self.added += 1;
        Ok(())
    }

    fn parse_global_section(&mut self, to: &mut GlobalSection, from: wasmparser::GlobalSectionReader<'_>) -> Copied {
        reencode::utils::parse_global_section(self, to, from)?;
        let next = GlobalType { val_type: ValType::I32, mutable: true, shared: false };
        to.global(next, &ConstExpr::i32_const(self.first.cast_signed()));
        self.added += 1;
        Ok(())
    }

    fn parse_export_section(&mut self, to: &mut ExportSection, from: wasmparser::ExportSectionReader<'_>) -> Copied {
        reencode::utils::parse_export_section(self, to, from)?;
        to.export("cabi_realloc", ExportKind::Func, self.counts.functions);
        self.added += 1;
        Ok(())
    }

    fn parse_code_section(&mut self, to: &mut CodeSection, from: wasmparser::CodeSectionReader<'_>) -> Copied {
        reencode::utils::parse_code_section(self, to, from)?;
        to.function(&function(self.counts.globals, self.end));
        self.added += 1;
        Ok(())
    }

    /// Copies code unchanged, because no index in it changes.
    fn parse_function_body(&mut self, to: &mut CodeSection, from: wasmparser::FunctionBody<'_>) -> Copied {
        to.raw(from.as_bytes());
        Ok(())
    }
}

/// Counts the entries of each section, and finds the variable.
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

/// Returns the address of a data segment, if it is a constant.
fn base(kind: &wasmparser::DataKind<'_>) -> Option<u32> {
    let wasmparser::DataKind::Active { memory_index: 0, offset_expr } = kind else { return None };
    match offset_expr.get_operators_reader().read().ok()? {
        wasmparser::Operator::I32Const { value } => Some(value.cast_unsigned()),
        _ => None,
    }
}

/// Returns the code of `cabi_realloc(old, old-size, align, size)`, which returns the next part of the variable. It
/// traps when no memory is left, and when a part should grow, which the adapter never requests.
fn function(next: u32, end: u32) -> Function {
    const OLD: u32 = 0;
    const ALIGN: u32 = 2;
    const SIZE: u32 = 3;
    const START: u32 = 4;
    let mut function = Function::new([(1, ValType::I32)]);
    let mut code = function.instructions();
    code.local_get(OLD).if_(BlockType::Empty).unreachable().end();
    // Start of the part: `next`, rounded up to a multiple of `align`.
    code.global_get(next).local_get(ALIGN).i32_add().i32_const(1).i32_sub();
    code.i32_const(0).local_get(ALIGN).i32_sub().i32_and().local_tee(START);
    code.local_get(SIZE).i32_add().global_set(next);
    code.global_get(next).i32_const(end.cast_signed()).i32_gt_u().if_(BlockType::Empty).unreachable().end();
    code.local_get(START).end();
    function
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
    fn refuses_modules_without_the_variable_and_other_bytes() {
        assert_eq!(add(&module(b"another")), None);
        assert_eq!(add(b"\0asm\x01\0\0\0\x01\xff"), None);
        assert_eq!(add(b"#!/bin/sh"), None);
    }
}
