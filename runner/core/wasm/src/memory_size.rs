//! Keeps core modules from taking the adapter's memory for their own.
//!
//! The adapter keeps its state in the module's memory, which it grows for that. An allocator from a wasi-libc of before
//! 2023 asks for the memory's size when it is first used, and takes everything below it. The adapter may have been there
//! before, and is overwritten when the module has allocated enough: it then ends with `assertion failed`. So such a
//! module sees only growth of its own: `memory.size` returns the end of what the module has got, and `memory.grow` goes
//! through a function that keeps account.
//!
//! A module that exports `cabi_realloc` gives the adapter memory itself and is left alone, as is one that never asks for
//! the size.

use wasm_encoder::reencode::{self, Reencode, utils};
use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, Function, FunctionSection, GlobalSection, GlobalType, Instruction, Module,
    TypeSection, ValType,
};
use wasmparser::{CodeSectionReader, ExternalKind, Operator, Parser, Payload, TypeRef};

/// Export by which a module gives the adapter memory.
const ALLOCATOR: &str = "cabi_realloc";

/// The number of entries in each index space, and the initial size of the memory in pages.
#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    types: u32,
    functions: u32,
    globals: u32,
    pages: Option<i32>,
}

/// Returns a module that sees only its own growth of its memory; `None` if the module needs no change. The module must be
/// valid.
///
/// # Errors
///
/// A module that cannot be parsed or written.
pub(super) fn hide_foreign_growth(core: &[u8]) -> anyhow::Result<Option<Vec<u8>>> {
    let Some(counts) = survey(core)? else { return Ok(None) };
    let Some(pages) = counts.pages else { return Ok(None) };
    let mut module = Module::new();
    let mut rewriter = Rewriter { counts, pages };
    let rewritten = rewriter.parse_core_module(&mut module, Parser::new(0), core);
    rewritten.map_err(|error| anyhow::anyhow!("failed to rewrite the module: {error}"))?;
    Ok(Some(module.finish()))
}

/// Counts what a module has; `None` if it needs no change, or has a form that modules of such allocators never have.
fn survey(core: &[u8]) -> anyhow::Result<Option<Counts>> {
    let mut counts = Counts::default();
    let (mut has_globals, mut asks) = (false, false);
    for payload in Parser::new(0).parse_all(core) {
        match payload? {
            Payload::TypeSection(types) => {
                for group in types {
                    counts.types += u32::try_from(group?.types().len())?;
                }
            }
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    match import?.ty {
                        TypeRef::Func(_) | TypeRef::FuncExact(_) => counts.functions += 1,
                        TypeRef::Global(_) => counts.globals += 1,
                        TypeRef::Memory(_) => return Ok(None),
                        TypeRef::Table(_) | TypeRef::Tag(_) => {}
                    }
                }
            }
            Payload::FunctionSection(functions) => counts.functions += functions.count(),
            Payload::GlobalSection(globals) => {
                has_globals = true;
                counts.globals += globals.count();
            }
            Payload::MemorySection(memories) if memories.count() == 1 => {
                for memory in memories {
                    let memory = memory?;
                    let is_plain = !memory.memory64 && !memory.shared && memory.page_size_log2.is_none();
                    counts.pages = i32::try_from(memory.initial).ok().filter(|_| is_plain);
                }
            }
            Payload::ExportSection(exports) => {
                for export in exports {
                    let export = export?;
                    if export.name == ALLOCATOR && export.kind == ExternalKind::Func {
                        return Ok(None);
                    }
                }
            }
            Payload::CodeSectionEntry(body) if !asks => {
                let mut operators = body.get_operators_reader()?;
                while !operators.eof() && !asks {
                    asks = matches!(operators.read()?, Operator::MemorySize { .. });
                }
            }
            _ => {}
        }
    }
    Ok(Some(counts).filter(|_| has_globals && asks))
}

/// Appends a type, a function and a global, so that no index changes, and replaces the two instructions.
struct Rewriter {
    counts: Counts,
    pages: i32,
}

impl Reencode for Rewriter {
    type Error = std::convert::Infallible;

    fn parse_type_section(
        &mut self,
        types: &mut TypeSection,
        section: wasmparser::TypeSectionReader<'_>,
    ) -> Result<(), reencode::Error<Self::Error>> {
        utils::parse_type_section(self, types, section)?;
        types.ty().function([ValType::I32], [ValType::I32]);
        Ok(())
    }

    fn parse_function_section(
        &mut self,
        functions: &mut FunctionSection,
        section: wasmparser::FunctionSectionReader<'_>,
    ) -> Result<(), reencode::Error<Self::Error>> {
        utils::parse_function_section(self, functions, section)?;
        functions.function(self.counts.types);
        Ok(())
    }

    fn parse_global_section(
        &mut self,
        globals: &mut GlobalSection,
        section: wasmparser::GlobalSectionReader<'_>,
    ) -> Result<(), reencode::Error<Self::Error>> {
        utils::parse_global_section(self, globals, section)?;
        let pages = GlobalType { val_type: ValType::I32, mutable: true, shared: false };
        globals.global(pages, &ConstExpr::i32_const(self.pages));
        Ok(())
    }

    fn parse_code_section(
        &mut self,
        code: &mut CodeSection,
        section: CodeSectionReader<'_>,
    ) -> Result<(), reencode::Error<Self::Error>> {
        utils::parse_code_section(self, code, section)?;
        code.function(&self.grow());
        Ok(())
    }

    fn instruction<'a>(&mut self, operator: Operator<'a>) -> Result<Instruction<'a>, reencode::Error<Self::Error>> {
        match operator {
            Operator::MemorySize { mem: 0 } => Ok(Instruction::GlobalGet(self.counts.globals)),
            Operator::MemoryGrow { mem: 0 } => Ok(Instruction::Call(self.counts.functions)),
            other => utils::instruction(self, other),
        }
    }
}

impl Rewriter {
    /// Returns the function that grows the memory by its argument. Growing by nothing asks for the size.
    fn grow(&self) -> Function {
        let pages = self.counts.globals;
        let mut grow = Function::new([(1, ValType::I32)]);
        for instruction in [
            Instruction::LocalGet(0),
            Instruction::I32Eqz,
            Instruction::If(BlockType::Result(ValType::I32)),
            Instruction::GlobalGet(pages),
            Instruction::Else,
            Instruction::LocalGet(0),
            Instruction::MemoryGrow(0),
            Instruction::LocalTee(1),
            Instruction::I32Const(-1),
            Instruction::I32Ne,
            Instruction::If(BlockType::Empty),
            Instruction::LocalGet(1),
            Instruction::LocalGet(0),
            Instruction::I32Add,
            Instruction::GlobalSet(pages),
            Instruction::End,
            Instruction::LocalGet(1),
            Instruction::End,
            Instruction::End,
        ] {
            grow.instruction(&instruction);
        }
        grow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(text: &str) -> Option<Vec<u8>> {
        let core = wat::parse_str(text).unwrap();
        let rewritten = hide_foreign_growth(&core).unwrap();
        if let Some(rewritten) = &rewritten {
            wasmparser::validate(rewritten).unwrap();
        }
        rewritten
    }

    #[test]
    fn only_modules_that_ask_for_the_size_are_rewritten() {
        for text in [
            "(module)",
            "(module (memory 1) (global i32 (i32.const 0)) (func (export \"_start\") i32.const 1 memory.grow drop))",
            "(module (memory 1) (global i32 (i32.const 0)) (func (export \"cabi_realloc\") memory.size drop))",
            "(module (import \"env\" \"memory\" (memory 1)) (global i32 (i32.const 0)) (func memory.size drop))",
            "(module (memory i64 1) (global i32 (i32.const 0)) (func memory.size drop))",
        ] {
            assert_eq!(rewritten(text), None, "{text}");
        }
        assert!(rewritten("(module (memory 1) (global i32 (i32.const 0)) (func memory.size drop))").is_some());
        hide_foreign_growth(b"\0asm\x01\0\0\0\x0a\x05").unwrap_err();
    }

    #[test]
    fn a_module_sees_its_own_growth_alone() {
        let text = r#"(module
            (import "env" "f" (func $f))
            (memory (export "memory") 3 5)
            (global $own (mut i32) (i32.const 7))
            (func (export "size") (result i32) memory.size)
            (func (export "grow") (param i32) (result i32) local.get 0 memory.grow)
            (func (export "own") (result i32) call $f global.get $own))"#;
        let engine = wasmtime::Engine::default();
        let module = wasmtime::Module::new(&engine, rewritten(text).unwrap()).unwrap();
        let mut store = wasmtime::Store::new(&engine, ());
        let nothing = wasmtime::Func::wrap(&mut store, || {});
        let instance = wasmtime::Instance::new(&mut store, &module, &[nothing.into()]).unwrap();
        let size = instance.get_typed_func::<(), i32>(&mut store, "size").unwrap();
        let grow = instance.get_typed_func::<i32, i32>(&mut store, "grow").unwrap();
        let own = instance.get_typed_func::<(), i32>(&mut store, "own").unwrap();
        assert_eq!((size.call(&mut store, ()).unwrap(), own.call(&mut store, ()).unwrap()), (3, 7));
        // Growth by the adapter.
        instance.get_memory(&mut store, "memory").unwrap().grow(&mut store, 1).unwrap();
        assert_eq!((size.call(&mut store, ()).unwrap(), grow.call(&mut store, 0).unwrap()), (3, 3));
        assert_eq!(grow.call(&mut store, 1).unwrap(), 4);
        assert_eq!((size.call(&mut store, ()).unwrap(), grow.call(&mut store, 0).unwrap()), (5, 5));
        assert_eq!(grow.call(&mut store, 1).unwrap(), -1);
        assert_eq!(size.call(&mut store, ()).unwrap(), 5);
    }
}
