unsigned short long x; BEGIN { }
