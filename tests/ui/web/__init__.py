"""The page in a real browser. It is a package so that its browser ends with it: pytest ends fixtures by package."""
