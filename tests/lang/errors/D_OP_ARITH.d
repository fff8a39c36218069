BEGIN { x = "a" + "b"; }
