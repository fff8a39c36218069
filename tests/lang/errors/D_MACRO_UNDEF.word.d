// args: -s {} 5 a.b
BEGIN { x = $1; y = $2; } // at 2:21
