struct s { int x; }; BEGIN { }
