BEGIN { x = "a" && "b"; }
