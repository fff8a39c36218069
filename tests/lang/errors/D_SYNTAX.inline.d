inline int a = b; inline int b = a; BEGIN { x = a; }
