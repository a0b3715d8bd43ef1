//! The memory of a crawler: which pages were seen, in 10 bits each.
//!
//! ```text
//! crawler THREADS LINKS START
//! ```
//!
//! LINKS has lines `page<TAB>link`, and stands for the web. What was visited is
//! printed at the end. One page in a hundred is taken for seen and
//! missed: choose a smaller rate if that is too many.

use bitsort::bloom::{BloomFilter, SharedFilter, Standard};
use std::collections::{HashMap, VecDeque};
use std::error::Error;
use std::io::{self, BufWriter, Write};
use std::sync::{Condvar, Mutex, PoisonError};

/// Share of new pages that are taken for seen.
const RATE: f64 = 0.01;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [threads, links, start] = &arguments[..] else {
        return Err("usage: crawler THREADS LINKS START".into());
    };
    let text = std::fs::read_to_string(links)?;
    let mut out = BufWriter::new(io::stdout());
    for page in crawl(&web(&text), start, threads.parse()?)? {
        writeln!(out, "{page}")?;
    }
    Ok(out.flush()?)
}

type Web = HashMap<String, Vec<String>>;

fn web(text: &str) -> Web {
    let mut web = Web::new();
    for (page, link) in text.lines().filter_map(|line| line.split_once('\t')) {
        web.entry(canonical(page)).or_default().push(link.to_owned());
    }
    web
}

/// One name a page: scheme and host in small letters, no fragment, no default
/// port, no slash at the end (RFC 3986, section 6).
fn canonical(url: &str) -> String {
    let url = url.split('#').next().unwrap_or(url);
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (scheme, host) = (scheme.to_ascii_lowercase(), host.to_ascii_lowercase());
    let port = if scheme == "https" { ":443" } else { ":80" };
    let host = host.strip_suffix(port).unwrap_or(&host);
    format!("{scheme}://{host}/{}", path.trim_end_matches('/'))
}

/// Pages to visit, and how many are being visited.
#[derive(Default)]
struct Frontier {
    waiting: VecDeque<String>,
    busy: usize,
    visited: Vec<String>,
}

fn crawl(web: &Web, start: &str, threads: usize) -> Result<Vec<String>, Box<dyn Error>> {
    let links = web.values().map(Vec::len).sum::<usize>() as u64;
    let mut filter = BloomFilter::new(links + 1, RATE)?;
    let seen = filter.share();
    let frontier = Mutex::new(Frontier::default());
    let changed = Condvar::new();
    seen.insert(&canonical(start));
    lock(&frontier).waiting.push_back(canonical(start));
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| visit(web, &seen, &frontier, &changed));
        }
    });
    Ok(frontier.into_inner().unwrap_or_else(PoisonError::into_inner).visited)
}

fn visit(
    web: &Web,
    seen: &SharedFilter<'_, Standard>,
    frontier: &Mutex<Frontier>,
    changed: &Condvar,
) {
    loop {
        let mut state = lock(frontier);
        let page = loop {
            match state.waiting.pop_front() {
                Some(page) => break page,
                None if state.busy == 0 => return,
                None => state = changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        };
        state.busy += 1;
        state.visited.push(page.clone());
        drop(state);
        // Threads that meet a link in one moment may all be told that it is new:
        // it is visited twice then, and not missed.
        let links = web.get(&page).into_iter().flatten().map(|link| canonical(link));
        let new: Vec<String> = links.filter(|link| seen.insert(link)).collect();
        let mut state = lock(frontier);
        state.waiting.extend(new);
        state.busy -= 1;
        changed.notify_all();
    }
}

fn lock(frontier: &Mutex<Frontier>) -> std::sync::MutexGuard<'_, Frontier> {
    frontier.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_page_has_one_name() {
        for url in ["HTTP://Example.org:80/a/", "http://example.org/a#top", "example.org/a"] {
            assert_eq!(canonical(url), "http://example.org/a");
        }
        assert_eq!(canonical("https://x.org:443"), "https://x.org/");
        assert_eq!(canonical("https://x.org:80/B"), "https://x.org:80/B");
    }

    #[test]
    fn pages_are_visited_once_and_few_are_missed() {
        // Page n links to 2n + 1, 2n + 2, back, and to itself under another name.
        let mut text = String::new();
        for page in 0..20_000 {
            for link in [2 * page + 1, 2 * page + 2, page / 2, page] {
                let (page, link) = (page.to_string(), (link % 20_000).to_string());
                text.extend(["http://site/", &page, "\tHTTP://SITE:80/", &link, "/#x\n"]);
            }
        }
        for threads in [1, 4] {
            let visited = crawl(&web(&text), "site/0", threads).unwrap();
            let distinct: HashSet<&String> = visited.iter().collect();
            let twice = visited.len() - distinct.len();
            assert!(twice <= 10 * (threads - 1), "{twice} pages were visited twice");
            assert!(visited.len() > 18_000, "{} of 20000", visited.len());
        }
    }
}
