//! A guard against cache penetration: requests for keys that do not exist are
//! answered by a Bloom filter, and reach neither the cache nor the store.
//!
//! ```text
//! cache_guard STORE [REDIS]  < requests
//! ```
//!
//! STORE has lines `key<TAB>value`; REDIS is the address of a Redis server, such
//! as `127.0.0.1:6379`. Each request, a key a line, is answered by
//! `key<TAB>value`, or `key<TAB>` if there is none. At the end standard error
//! says who answered how many.

use bitsort::bloom::BloomFilter;
use std::collections::HashMap;
use std::error::Error;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::net::TcpStream;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let store = arguments.next().ok_or("usage: cache_guard STORE [REDIS] < requests")?;
    let cache = arguments.next().map(|address| Redis::connect(&address)).transpose()?;
    let rows = std::fs::read_to_string(store)?;
    let mut guard = Guard::new(&rows, cache)?;
    let mut out = BufWriter::new(io::stdout());
    for key in io::stdin().lines() {
        let key = key?;
        let value = guard.get(&key)?.unwrap_or_default();
        writeln!(out, "{key}\t{value}")?;
    }
    out.flush()?;
    writeln!(io::stderr(), "{:?}", guard.counts)?;
    Ok(())
}

/// Who answered.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    /// "Certainly not there", by the filter alone.
    filter: u64,
    cache: u64,
    store: u64,
    /// Asked of the store in vain: the filter's false positives.
    vain: u64,
}

struct Guard<'s> {
    filter: BloomFilter,
    cache: Option<Redis>,
    /// Stands for a database.
    store: HashMap<&'s str, &'s str>,
    counts: Counts,
}

impl<'s> Guard<'s> {
    fn new(rows: &'s str, cache: Option<Redis>) -> Result<Self, Box<dyn Error>> {
        let store: HashMap<_, _> = rows.lines().filter_map(|row| row.split_once('\t')).collect();
        // Room to grow: a filter cannot be made larger afterwards.
        let mut filter = BloomFilter::new(2 * store.len().max(500) as u64, 0.01)?;
        filter.extend(store.keys().copied());
        Ok(Self { filter, cache, store, counts: Counts::default() })
    }

    fn get(&mut self, key: &str) -> io::Result<Option<String>> {
        if !self.filter.contains(key) {
            self.counts.filter += 1;
            return Ok(None);
        }
        if let Some(cache) = &mut self.cache
            && let Some(value) = cache.get(key)?
        {
            self.counts.cache += 1;
            return Ok(Some(value));
        }
        let Some(&value) = self.store.get(key) else {
            self.counts.vain += 1;
            return Ok(None);
        };
        self.counts.store += 1;
        if let Some(cache) = &mut self.cache {
            cache.set(key, value)?;
        }
        Ok(Some(value.to_owned()))
    }
}

/// As much of Redis's protocol as a cache needs
/// (<https://redis.io/docs/latest/develop/reference/protocol-spec/>).
struct Redis {
    replies: BufReader<TcpStream>,
}

impl Redis {
    fn connect(address: &str) -> io::Result<Self> {
        Ok(Self { replies: BufReader::new(TcpStream::connect(address)?) })
    }

    fn command(&mut self, words: &[&str]) -> io::Result<Option<String>> {
        let mut request = format!("*{}\r\n", words.len());
        for word in words {
            request.extend(["$", &word.len().to_string(), "\r\n", word, "\r\n"]);
        }
        self.replies.get_mut().write_all(request.as_bytes())?;
        let mut head = String::new();
        self.replies.read_line(&mut head)?;
        match head.trim_end().split_at_checked(1) {
            Some(("+", status)) => Ok(Some(status.to_owned())),
            Some(("$", "-1")) => Ok(None),
            Some(("$", length)) => {
                let length: usize = length.parse().map_err(io::Error::other)?;
                let mut value = vec![0; length + 2];
                io::Read::read_exact(&mut self.replies, &mut value)?;
                value.truncate(length);
                String::from_utf8(value).map(Some).map_err(io::Error::other)
            }
            _ => Err(io::Error::other(head)),
        }
    }

    fn get(&mut self, key: &str) -> io::Result<Option<String>> {
        self.command(&["GET", key])
    }

    /// Keeps a value for a minute.
    fn set(&mut self, key: &str, value: &str) -> io::Result<()> {
        self.command(&["SET", key, value, "EX", "60"]).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    const ROWS: &str = "ada\tLovelace\ngrace\tHopper\nalan\tTuring\n";

    #[test]
    fn what_is_not_there_reaches_no_store() {
        let mut guard = Guard::new(ROWS, None).unwrap();
        for _ in 0..2 {
            assert_eq!(guard.get("grace").unwrap().as_deref(), Some("Hopper"));
        }
        for number in 0..10_000 {
            assert_eq!(guard.get(&format!("nobody {number}")).unwrap(), None);
        }
        let Counts { filter, cache, store, vain } = guard.counts;
        assert_eq!((cache, store, filter + vain), (0, 2, 10_000));
        assert!(vain < 200, "{vain} of 10000 at 1 % of a filter that is hardly filled");
    }

    struct Server(Child);

    impl Drop for Server {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// Redis where it is installed, on a port that nobody has.
    fn redis() -> Option<(Server, Redis)> {
        let port = std::net::TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?.port();
        let flags = ["--save", "", "--appendonly", "no", "--port", &port.to_string()];
        let mut server = Command::new("redis-server");
        let server = Server(server.args(flags).stdout(Stdio::null()).spawn().ok()?);
        for _ in 0..100 {
            if let Ok(redis) = Redis::connect(&format!("127.0.0.1:{port}")) {
                return Some((server, redis));
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        None
    }

    #[test]
    fn the_cache_answers_what_it_has_seen() {
        let Some((_server, redis)) = redis() else {
            return; // there is no redis-server
        };
        let mut guard = Guard::new(ROWS, Some(redis)).unwrap();
        for _ in 0..3 {
            assert_eq!(guard.get("alan").unwrap().as_deref(), Some("Turing"));
        }
        assert_eq!(guard.get("nobody at all").unwrap(), None);
        assert_eq!(guard.counts, Counts { filter: 1, cache: 2, store: 1, vain: 0 });
    }
}
