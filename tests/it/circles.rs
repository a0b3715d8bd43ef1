//! Files that import each other in a circle have a reason, which the `mod.rs` above them names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A module as the names on the way to it: `["sort", "plan", "budget"]`.
type Module = Vec<String>;

/// The modules of a crate, and what stands in their files.
struct Source {
    /// Without comments and tests.
    code: BTreeMap<Module, String>,
    folders: BTreeSet<Module>,
    /// What a module gives on under a name of its own.
    renamed: BTreeMap<Module, Module>,
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] }).collect()
}

/// The paths of a use declaration: `a::{b, c::d}` gives `a::b` and `a::c::d`.
fn paths(declaration: &str) -> Vec<Module> {
    let Some((head, rest)) = declaration.split_once('{') else {
        let path = declaration.split(" as ").next().unwrap();
        return vec![path.split("::").map(|name| name.trim().to_owned()).collect()];
    };
    let inner = rest.strip_suffix('}').unwrap_or(rest);
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (at, letter) in inner.char_indices().chain([(inner.len(), ',')]) {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let item = inner[start..at].trim();
                if !item.is_empty() {
                    found.extend(paths(&format!("{head}{item}")));
                }
                start = at + 1;
            }
            _ => {}
        }
    }
    found
}

/// The use declarations of a file, those that give names on apart.
fn declarations(code: &str) -> (Vec<Module>, Vec<Module>) {
    let (mut taken, mut given) = (Vec::new(), Vec::new());
    for statement in code.split(';') {
        let Some(at) = statement.rfind("use ") else { continue };
        let line = statement[..at].rfind('\n').map_or(0, |end| end + 1);
        let before = statement[line..at].trim();
        let one_line: String = statement[at + 4..].split_whitespace().collect::<Vec<_>>().join(" ");
        if before.starts_with("pub") {
            given.extend(paths(&one_line));
        } else if before.is_empty() {
            taken.extend(paths(&one_line));
        }
    }
    (taken, given)
}

impl Source {
    fn read(root: &Path) -> Self {
        let mut found =
            Self { code: BTreeMap::new(), folders: BTreeSet::new(), renamed: BTreeMap::new() };
        for path in rust_files(root).iter().filter(|path| !path.ends_with("tests.rs")) {
            let inside = path.strip_prefix(root).unwrap().with_extension("");
            let mut module: Module =
                inside.iter().map(|name| name.to_str().unwrap().to_owned()).collect();
            if module.last().is_some_and(|name| name == "mod") {
                module.pop();
                found.folders.insert(module.clone());
            }
            let text = fs::read_to_string(path).unwrap();
            let code = text.split("#[cfg(test)]\nmod ").next().unwrap();
            let lines = code.lines().map(|line| line.split("//").next().unwrap());
            found.code.insert(module, lines.collect::<Vec<_>>().join("\n"));
        }
        for (module, code) in &found.code {
            for path in declarations(code).1 {
                let Some(to) = found.absolute(module, &path) else { continue };
                let mut from = module.clone();
                from.push(to.last().unwrap().clone());
                found.renamed.insert(from, to);
            }
        }
        found
    }

    /// A path of `module` from the crate's root on; none if it leads elsewhere.
    fn absolute(&self, module: &Module, path: &[String]) -> Option<Module> {
        let above = path.iter().take_while(|name| *name == "super").count();
        let first = path.first()?;
        let (from, rest) = if first == "crate" {
            (&module[..0], &path[1..])
        } else if first == "self" {
            (&module[..], &path[1..])
        } else if above > 0 {
            (&module[..module.len() - above], &path[above..])
        } else {
            let child: Module = module.iter().chain([first]).cloned().collect();
            if !self.code.contains_key(&child) {
                return None;
            }
            (&module[..], path)
        };
        Some(from.iter().chain(rest).cloned().collect())
    }

    /// The file in which a path ends.
    fn file(&self, mut path: Module) -> Option<Module> {
        for _ in 0..8 {
            let given = (1..=path.len()).rev().find(|&end| self.renamed.contains_key(&path[..end]));
            let Some(end) = given else { break };
            let mut to = self.renamed[&path[..end]].clone();
            to.extend_from_slice(&path[end..]);
            if to == path {
                break;
            }
            path = to;
        }
        let end = (1..=path.len()).rev().find(|&end| self.code.contains_key(&path[..end]))?;
        path.truncate(end);
        Some(path)
    }

    /// The files that each file imports. A `mod.rs` only lists what is below it.
    fn imports(&self) -> BTreeMap<&Module, BTreeSet<Module>> {
        let files = self.code.iter().filter(|(module, _)| !self.folders.contains(*module));
        let imported = files.map(|(module, code)| {
            let paths = declarations(code).0;
            let absolute = paths.iter().filter_map(|path| self.absolute(module, path));
            let files = absolute.filter_map(|path| self.file(path));
            (module, files.filter(|file| file != module).collect())
        });
        imported.collect()
    }
}

/// Everything that can be reached from `start`.
fn reach(imports: &BTreeMap<&Module, BTreeSet<Module>>, start: &Module) -> BTreeSet<Module> {
    let (mut found, mut next) = (BTreeSet::new(), vec![start]);
    while let Some(module) = next.pop() {
        for file in imports.get(module).into_iter().flatten() {
            if found.insert(file.clone()) {
                next.push(file);
            }
        }
    }
    found
}

/// The groups of files of which each can be reached from each.
fn circles(imports: &BTreeMap<&Module, BTreeSet<Module>>) -> BTreeSet<BTreeSet<Module>> {
    let reached: BTreeMap<_, _> =
        imports.keys().map(|&module| (module, reach(imports, module))).collect();
    let with = |module: &Module| -> BTreeSet<Module> {
        let others = reached[module].iter();
        others
            .filter(|other| reached.get(other).is_some_and(|back| back.contains(module)))
            .cloned()
            .collect()
    };
    reached.keys().map(|module| with(module)).filter(|circle| !circle.is_empty()).collect()
}

#[test]
fn circles_of_files_have_reasons() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let source = Source::read(&root);
    let imports = source.imports();
    assert!(imports.values().map(BTreeSet::len).sum::<usize>() > 500, "imports are not found");
    let mut unnamed = Vec::new();
    for circle in circles(&imports) {
        let first = circle.first().unwrap();
        let shared = (0..first.len())
            .take_while(|&at| circle.iter().all(|module| module.get(at) == first.get(at)))
            .count();
        let names: Vec<String> =
            circle.iter().map(|module| format!("`{}`", module[shared..].join("::"))).collect();
        let folder = first[..shared].join("/");
        let text = fs::read_to_string(root.join(&folder).join("mod.rs")).unwrap_or_default();
        // A reason may take several lines.
        let mut reasons = text.split("// Circle: ").skip(1);
        if !reasons.any(|reason| names.iter().all(|name| reason.contains(name))) {
            unnamed.push(format!("{folder}/mod.rs: // Circle: {}: …", names.join(", ")));
        }
    }
    assert!(unnamed.is_empty(), "circles of imports without a reason:\n{}", unnamed.join("\n"));
}

#[test]
fn circles_are_found() {
    let module = |name: &str| vec![name.to_owned()];
    let (a, b, c) = (module("a"), module("b"), module("c"));
    let to = |files: &[&Module]| files.iter().map(|&file| file.clone()).collect::<BTreeSet<_>>();
    let imports = BTreeMap::from([(&a, to(&[&b])), (&b, to(&[&c, &a])), (&c, to(&[]))]);
    assert_eq!(circles(&imports), BTreeSet::from([to(&[&a, &b])]));
    let found = paths("super::{a::B, c::{D, e}}");
    assert_eq!(found, [vec!["super", "a", "B"], vec!["super", "c", "D"], vec!["super", "c", "e"]]);
}
