enum { A = 0x80000000 }; BEGIN { }
