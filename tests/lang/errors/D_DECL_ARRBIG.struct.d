struct s { int a[4000]; int b[4000]; };
BEGIN { trace(sizeof (struct s)); }
