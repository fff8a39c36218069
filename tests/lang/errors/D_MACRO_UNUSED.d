// args: -s {} 5
BEGIN { }
