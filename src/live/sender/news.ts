/** Waiting for something to change: the sender's loop waits for any news, its callers for a condition. */
export class News {
  stopped = false;
  #fresh = false;
  readonly #looks = new Set<() => void>();

  /** Something has changed. */
  ring(): void {
    this.#fresh = true;
    for (const look of this.#looks) look();
  }

  /** From here on nobody waits. */
  stop(): void {
    this.stopped = true;
    this.ring();
  }

  /** Resolves with the next news, or those that came since the last call; at most after this time, null: without end. */
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
