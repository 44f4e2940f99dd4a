//! The tables that a VM exports for the Serviceability Agent, read from the memory of a running JVM.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use object::{Object, ObjectSymbol};

use crate::facts::Facts;

/// No table has more entries, and no name more bytes.
const MAX_ENTRIES: usize = 100_000;
const MAX_NAME: usize = 512;

/// The library of the VM in a process.
struct Vm {
    memory: File,
    base: u64,
    symbols: Vec<(String, u64)>,
}

/// Adds fields, types and constants of the VM in a process.
pub fn add(facts: &mut Facts, pid: u32) -> Result<()> {
    let vm = Vm::of(pid)?;
    vm.each("gHotSpotVMStruct", "gHotSpotVMStructs", |entry| {
        let type_name = entry.text("TypeName")?;
        let Some(field) = entry.text("FieldName")? else {
            return Ok(type_name.is_some());
        };
        let declared = entry
            .text("TypeString")?
            .unwrap_or_else(|| "no type".to_owned());
        let kind = match entry.number("IsStatic")? & 0xffff_ffff {
            0 => "",
            _ => "static ",
        };
        let name = format!("{}::{field}", type_name.unwrap_or_default());
        facts.add("exported fields", &name, &format!("{kind}{declared}"));
        Ok(true)
    })?;
    vm.each("gHotSpotVMType", "gHotSpotVMTypes", |entry| {
        let Some(name) = entry.text("TypeName")? else {
            return Ok(false);
        };
        let above = entry.text("SuperclassName")?.map(|it| format!(", a {it}"));
        let value = format!(
            "{} bytes{}",
            entry.number("Size")?,
            above.unwrap_or_default()
        );
        facts.add("exported types", &name, &value);
        Ok(true)
    })?;
    vm.each("gHotSpotVMIntConstant", "gHotSpotVMIntConstants", |entry| {
        let Some(name) = entry.text("Name")? else {
            return Ok(false);
        };
        let value = entry.number("Value")? as i32;
        facts.add("exported constants", &name, &value.to_string());
        Ok(true)
    })
}

impl Vm {
    fn of(pid: u32) -> Result<Vm> {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
        let line = maps.lines().find(|line| line.ends_with("/libjvm.so"));
        let line = line.with_context(|| format!("process {pid} has no libjvm.so"))?;
        let path = line.find('/').map(|at| PathBuf::from(&line[at..]));
        let path = path.context("libjvm.so has no path")?;
        let base = line.split('-').next().unwrap_or_default();
        let base = u64::from_str_radix(base, 16).context("the map has no address")?;
        let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
        let file = object::File::parse(&*bytes).with_context(|| path.display().to_string())?;
        let symbols = file.dynamic_symbols().filter_map(|symbol| {
            let name = symbol.name().ok()?;
            // Some builds give their symbols versions.
            let name = name.split('@').next()?;
            name.starts_with("gHotSpot")
                .then(|| (name.to_owned(), symbol.address()))
        });
        Ok(Vm {
            memory: File::open(format!("/proc/{pid}/mem"))?,
            base,
            symbols: symbols.collect(),
        })
    }

    fn word_at(&self, address: u64) -> Result<u64> {
        let mut bytes = [0; 8];
        self.memory.read_exact_at(&mut bytes, address)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// An exported word.
    fn word(&self, name: &str) -> Result<u64> {
        let found = self.symbols.iter().find(|(it, _)| it == name);
        let (_, address) = found.with_context(|| format!("the VM exports no {name}"))?;
        self.word_at(self.base + address)
    }

    /// The text that a pointer leads to.
    fn text_at(&self, address: u64) -> Result<Option<String>> {
        let pointer = self.word_at(address)?;
        if pointer == 0 {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let mut byte = [0];
        while bytes.len() < MAX_NAME {
            self.memory
                .read_exact_at(&mut byte, pointer + bytes.len() as u64)?;
            match byte[0] {
                0 => return Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
                other => bytes.push(other),
            }
        }
        bail!("a name in the VM's tables does not end")
    }

    /// Calls `take` with each entry of a table, until that returns false. `prefix` begins the names of its description.
    fn each(
        &self,
        prefix: &str,
        table: &str,
        mut take: impl FnMut(&Entry<'_>) -> Result<bool>,
    ) -> Result<()> {
        let stride = self.word(&format!("{prefix}EntryArrayStride"))?;
        let first = self.word(table)?;
        for nth in 0..MAX_ENTRIES as u64 {
            let entry = Entry {
                vm: self,
                prefix,
                address: first + nth * stride,
            };
            if !take(&entry)? {
                return Ok(());
            }
        }
        bail!("the table {table} does not end")
    }
}

struct Entry<'a> {
    vm: &'a Vm,
    prefix: &'a str,
    address: u64,
}

impl Entry<'_> {
    fn member(&self, name: &str) -> Result<u64> {
        Ok(self.address + self.vm.word(&format!("{}Entry{name}Offset", self.prefix))?)
    }

    fn text(&self, name: &str) -> Result<Option<String>> {
        self.vm.text_at(self.member(name)?)
    }

    fn number(&self, name: &str) -> Result<u64> {
        self.vm.word_at(self.member(name)?)
    }
}
