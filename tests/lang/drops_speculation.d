#pragma D option specsize=64
BEGIN { s = speculation(); }
BEGIN { speculate(s); printf("%s", "0123456789012345678901234567890123456789"); }
BEGIN { speculate(s); printf("%s", "0123456789012345678901234567890123456789"); }
BEGIN { commit(s); }
