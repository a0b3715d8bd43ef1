"""Memory is given back; see leaks.py."""

import subprocess
import sys
from pathlib import Path


def test_memory_does_not_grow():
    script = Path(__file__).with_name("leaks.py")
    done = subprocess.run([sys.executable, script, "2000"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
