BEGIN { x = "a
"; }
