//! Parses the requirements of a PowerShell or C# file.
//!
//! The patterns are those of ansible-core 2.19 (`PSModuleDepFinder`). They match bytes, line by line, at the start of a
//! line, and ignore case.

use std::sync::LazyLock;

use regex::bytes::Regex;

/// The language of a util.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Powershell,
    CSharp,
}

impl Language {
    pub(super) fn extension(self) -> &'static str {
        match self {
            Self::Powershell => ".psm1",
            Self::CSharp => ".cs",
        }
    }
}

/// A util that a line requires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Util {
    /// `Ansible.…`, a collection's dotted name, or, with a leading dot, a name relative to the module's own.
    pub(super) name: String,
    pub(super) language: Language,
    /// Whether it may be missing.
    pub(super) optional: bool,
}

/// All requirements of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Requirements {
    /// The utils without duplicates, in the order of the lines.
    pub(super) utils: Vec<Util>,
    /// The lowest supported version of PowerShell.
    pub(super) powershell: Option<Version>,
    /// The lowest supported version of Windows.
    pub(super) system: Option<Version>,
    /// Whether the module has to run as the user `SYSTEM`.
    pub(super) elevated: bool,
}

/// A version of at least two numbers, in its original text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Version(String);

impl Version {
    fn numbers(&self) -> Vec<u64> {
        self.0.split('.').map(|number| number.parse().unwrap_or(u64::MAX)).collect()
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Replaces `into` if the other version is higher.
    pub(super) fn raise(into: &mut Option<Self>, other: Option<Self>) {
        let Some(other) = other else { return };
        if into.as_ref().is_none_or(|version| other.numbers() > version.numbers()) {
            *into = Some(other);
        }
    }
}

struct Patterns {
    powershell_utils: [Regex; 2],
    csharp_util: Regex,
    csharp_using: Regex,
    powershell: Regex,
    system: Regex,
    elevated: Regex,
}

static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| {
    let form = |pattern: &str| Regex::new(&format!("(?i-u)^{pattern}")).expect("a test compiles every pattern");
    let collection = r"ansible_collections\.\w+\.\w+\.plugins\.module_utils\.[\w\.]+";
    let required = |word: &str, own: &str| {
        form(&format!(r"#\s*ansiblerequires\s+-{word}\s+({own}|{collection}|\.[\w\.]+)(\s+-Optional)?"))
    };
    let version = |word: &str| form(&format!(r"#{word}\s+([0-9]+(\.[0-9]+){{0,3}})$"));
    Patterns {
        powershell_utils: [
            form(r"#\s*requires\s+-modules?\s*(Ansible\.ModuleUtils\..+)"),
            required("powershell", r"Ansible\.ModuleUtils\.[\w\.]+"),
        ],
        csharp_util: required("csharputil", r"Ansible\.[\w\.]+"),
        csharp_using: form(&format!(r"using\s(Ansible\..+|{collection});\s*$")),
        powershell: version(r"requires\s+-version"),
        system: version(r"ansiblerequires\s+-osversion"),
        elevated: form(r"#ansiblerequires\s+-become$"),
    }
});

/// Parses the requirements of a file.
pub(super) fn read(bytes: &[u8], language: Language) -> Requirements {
    let mut found = Requirements::default();
    for line in bytes.split(|byte| *byte == b'\n') {
        let util = match language {
            Language::CSharp => util(&PATTERNS.csharp_using, line, Language::CSharp),
            Language::Powershell => {
                let mut forms = PATTERNS.powershell_utils.iter();
                let first = forms.find_map(|form| util(form, line, Language::Powershell));
                first.or_else(|| util(&PATTERNS.csharp_util, line, Language::CSharp))
            }
        };
        found.utils.extend(util.filter(|util| !found.utils.contains(util)));
        if language == Language::Powershell {
            Version::raise(&mut found.powershell, version(&PATTERNS.powershell, line));
            Version::raise(&mut found.system, version(&PATTERNS.system, line));
            found.elevated |= PATTERNS.elevated.is_match(line);
        }
    }
    found
}

fn util(form: &Regex, line: &[u8], language: Language) -> Option<Util> {
    let found = form.captures(line)?;
    let name = String::from_utf8_lossy(found.get(1)?.as_bytes().trim_ascii_end()).into_owned();
    Some(Util { name, language, optional: found.get(2).is_some() })
}

fn version(form: &Regex, line: &[u8]) -> Option<Version> {
    let found = form.captures(line)?;
    let text = String::from_utf8_lossy(found.get(1)?.as_bytes()).into_owned();
    // PowerShell does not accept a single number as a version.
    Some(Version(if found.get(2).is_some() { text } else { format!("{text}.0") }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str, language: Language) -> Vec<String> {
        let shown =
            |util: Util| format!("{}{}{}", util.name, util.language.extension(), if util.optional { "?" } else { "" });
        read(text.as_bytes(), language).utils.into_iter().map(shown).collect()
    }

    #[test]
    fn reads_every_form() {
        let text = "#Requires -Module Ansible.ModuleUtils.Legacy\r\n# requires -modules Ansible.ModuleUtils.SID \n\
            #AnsibleRequires -PowerShell Ansible.ModuleUtils.X -Optional\n#ansiblerequires -csharputil Ansible.Basic\n\
            #AnsibleRequires -CSharpUtil ansible_collections.a.b.plugins.module_utils.c.D\n\
            #AnsibleRequires -PowerShell ..module_utils.e\n #Requires -Module Ansible.ModuleUtils.No\n\
            #Requires -Module Other\n#AnsibleRequires -PowerShell Ansible.Basic\n#Requires -Module Ansible.ModuleUtils.Legacy\n";
        assert_eq!(
            names(text, Language::Powershell),
            [
                "Ansible.ModuleUtils.Legacy.psm1",
                "Ansible.ModuleUtils.SID.psm1",
                "Ansible.ModuleUtils.X.psm1?",
                "Ansible.Basic.cs",
                "ansible_collections.a.b.plugins.module_utils.c.D.cs",
                "..module_utils.e.psm1",
            ]
        );
        assert_eq!(names("using Ansible.Process;\nusing System;\n", Language::CSharp), ["Ansible.Process.cs"]);
    }

    #[test]
    fn keeps_the_highest_version() {
        let text = "#Requires -Version 3\n#Requires -Version 5.1\n#AnsibleRequires -OSVersion 6.2\n#AnsibleRequires -Become\n\
            #AnsibleRequires -OSVersion 10\n#Requires -Version 4.0.0.0.0\n#Requires -Version 7\r\n";
        let found = read(text.as_bytes(), Language::Powershell);
        assert_eq!(found.powershell.unwrap().as_str(), "5.1");
        assert_eq!(found.system.unwrap().as_str(), "10.0");
        assert!(found.elevated);
        assert_eq!(read(text.as_bytes(), Language::CSharp), Requirements::default());
    }
}
