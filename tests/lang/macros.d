// args: -q -s {} 42 name 0x10
BEGIN { printf("%d %s %d %s\n", $1, $$2, $3, $$3); printf("%s\n", $$0); }
