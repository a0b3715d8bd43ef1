"""Draws a map of the IPv4 addresses in a file, or of some that it makes up.

    python draw_map.py [addresses.txt] [map.png]

In a notebook the last line of a cell, `ids.plot(ipv4=True)`, shows the same picture.
"""

import ipaddress
import sys
from pathlib import Path

import bitsort as bs


def addresses(lines):
    """The numbers of addresses, one a line."""
    return bs.BitSet(int(ipaddress.IPv4Address(line.strip())) for line in lines if line.strip())


def made_up():
    """Some networks, and an address here and there."""
    networks = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "203.0.113.0/24"]
    ends = [(int(net[0]), int(net[-1]) + 1) for net in map(ipaddress.IPv4Network, networks)]
    return bs.BitSet.from_ranges(ends) | bs.BitSet(range(0, 2**32, 1_000_003))


def main():
    source, target = (sys.argv[1:] + [None, None])[:2]
    ids = addresses(Path(source).open()) if source else made_up()
    ids.plot(ipv4=True, title=source or "made up").save(target or "map.png")
    print(f"{len(ids)} addresses drawn")


if __name__ == "__main__":
    main()
