/** Waits for changes: the sender's loop for any change, its callers for a condition. */
export class News {
  stopped = false;
  #fresh = false;
  readonly #looks = new Set<() => void>();

  /** Signals a change. */
  ring(): void {
    this.#fresh = true;
    for (const look of this.#looks) look();
  }

  /** Ends all waits, now and later. */
  stop(): void {
    this.stopped = true;
    this.ring();
  }

  /** Resolves at the next change, or immediately after one since the last call; null waits without a limit. */
  async next(wait_ms: number | null): Promise<void> {
    await this.until(() => this.#fresh, wait_ms);
    this.#fresh = false;
  }

  until(holds: () => boolean, wait_ms: number | null): Promise<void> {
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timer);
        this.#looks.delete(look);
        resolve();
      };
      const look = () => {
        if (holds() || this.stopped) finish();
      };
      const timer = wait_ms === null ? undefined : setTimeout(finish, wait_ms);
      this.#looks.add(look);
      look();
    });
  }
}
