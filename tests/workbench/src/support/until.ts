// For what tells nobody when it happens (a port that opens, a process that ends): asks again and again.

const PAUSE = 50; // ms

/** Returns the first answer that is neither false nor undefined. Throws when there is none within `limit` ms. */
export async function until<T>(what: string, ask: () => T | Promise<T>, limit = 120_000): Promise<Exclude<T, false | undefined>> {
  const end = performance.now() + limit;
  for (;;) {
    const answer = await ask();
    if (answer !== false && answer !== undefined) {
      return answer as Exclude<T, false | undefined>;
    }
    if (performance.now() > end) {
      throw new Error(`not within ${String(limit / 1000)} s: ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
}
