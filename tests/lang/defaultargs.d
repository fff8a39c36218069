// args: -q -x defaultargs -s {}
BEGIN { printf("%d [%s]\n", $1, $$2); }
