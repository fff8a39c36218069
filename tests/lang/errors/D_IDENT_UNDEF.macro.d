// args: -s {} nowhere
BEGIN { x = $1; } // at 2:13
