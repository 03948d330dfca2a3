"""One conjugate pair a page; ``family`` says what a page must hold."""
