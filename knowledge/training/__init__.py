"""Training of the shipped judge (`make train`) and of the judges that cross-validation refits."""
