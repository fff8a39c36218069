BEGIN { x = 'a
'; }
