enum { A = timestamp }; BEGIN { }
