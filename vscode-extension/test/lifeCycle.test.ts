import assert from "node:assert/strict";
import { test } from "node:test";
import { LifeCycle, type Running, type State } from "../src/server/lifeCycle";
import { Stopped } from "../src/server/troubles";

/** A server that runs until it is stopped or told to crash. */
class Fake implements Running {
  static running = 0;
  static most = 0;
  readonly ended: Promise<void>;
  private end!: () => void;
  private over = false;

  constructor() {
    Fake.running++;
    Fake.most = Math.max(Fake.most, Fake.running);
    this.ended = new Promise((resolve) => (this.end = resolve));
  }

  async stop(): Promise<void> {
    await tick();
    this.crash();
  }

  crash(): void {
    if (!this.over) {
      this.over = true;
      Fake.running--;
      this.end();
    }
  }
}

async function tick(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

async function until(condition: () => boolean): Promise<void> {
  for (let i = 0; i < 1000 && !condition(); i++) {
    await tick();
  }
  assert.ok(condition());
}

interface Set {
  readonly cycle: LifeCycle<Fake>;
  readonly states: State[];
  readonly starts: () => number;
}

function make(start: (signal: AbortSignal) => Promise<Fake> = async () => tick().then(() => new Fake()), now?: () => number): Set {
  Fake.running = Fake.most = 0;
  let starts = 0;
  const states: State[] = [];
  const cycle = new LifeCycle<Fake>({
    start: async (signal) => {
      starts++;
      return start(signal);
    },
    onState: (state) => states.push(state),
    ...(now === undefined ? {} : { now }),
  });
  return { cycle, states, starts: () => starts };
}

test("starts and stops", async () => {
  const { cycle, states } = make();
  await cycle.restart();
  assert.equal(cycle.state.name, "running");
  assert.equal(Fake.running, 1);
  await cycle.stop();
  assert.deepEqual(
    states.map((state) => state.name),
    ["starting", "running", "stopped"],
  );
  assert.equal(Fake.running, 0);
});

test("a storm of restarts ends in one server, and never has two", async () => {
  const { cycle, starts } = make();
  const asked: Promise<void>[] = [];
  for (let i = 0; i < 100; i++) {
    asked.push(cycle.restart());
    if (i % 10 === 0) {
      await tick();
    }
  }
  await Promise.all(asked);
  assert.equal(cycle.state.name, "running");
  assert.equal(Fake.running, 1);
  assert.equal(Fake.most, 1);
  assert.ok(starts() < 50, `${String(starts())} starts`);
});

test("a start that is no longer wanted is given up", async () => {
  let aborted = 0;
  const { cycle } = make(
    async (signal) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => {
          aborted++;
          reject(new Stopped({ kind: "cancelled" }));
        });
      }),
  );
  const starting = cycle.restart();
  await tick();
  await cycle.stop();
  await starting;
  assert.equal(aborted, 1);
  assert.equal(cycle.state.name, "stopped");
});

test("stopping in a storm leaves nothing", async () => {
  const { cycle } = make();
  for (let i = 0; i < 10; i++) {
    void cycle.restart();
  }
  await cycle.stop();
  assert.equal(cycle.state.name, "stopped");
  assert.equal(Fake.running, 0);
});

test("what is in the way is told once, and nothing is tried again by itself", async () => {
  const { cycle, states, starts } = make(() => Promise.reject(new Stopped({ kind: "offline" })));
  await cycle.restart();
  for (let i = 0; i < 20; i++) {
    await tick();
  }
  assert.deepEqual(states, [{ name: "starting" }, { name: "failed", trouble: { kind: "offline" } }]);
  assert.equal(starts(), 1);
});

test("a server that is killed comes back", async () => {
  const { cycle } = make();
  await cycle.restart();
  const first = cycle.server;
  first?.crash();
  await until(() => cycle.server !== undefined && cycle.server !== first && cycle.state.name === "running");
  assert.equal(Fake.running, 1);
});

for (let turns = 0; turns < 12; turns++) {
  test(`a server that ends ${String(turns)} turns after it has started comes back`, async () => {
    let first = true;
    const { cycle, starts } = make(async () => {
      await tick();
      const server = new Fake();
      if (first) {
        first = false;
        let left = turns;
        const end = (): void => {
          if (left-- > 0) {
            queueMicrotask(end);
          } else {
            server.crash();
          }
        };
        queueMicrotask(end);
      }
      return server;
    });
    void cycle.restart();
    await until(() => starts() === 2 && cycle.state.name === "running" && cycle.server !== undefined);
  });
}

test("a server that keeps ending is left alone", async () => {
  const { cycle, starts } = make();
  await cycle.restart();
  for (let i = 0; i < 3; i++) {
    const before = cycle.server;
    before?.crash();
    await until(() => cycle.server !== undefined && cycle.server !== before);
  }
  cycle.server?.crash();
  await until(() => cycle.state.name === "failed");
  assert.deepEqual(cycle.state, { name: "failed", trouble: { kind: "crashes", times: 4 } });
  assert.equal(starts(), 4);
  await cycle.restart(); // when asked for
  assert.equal(cycle.state.name, "running");
});

test("ends that are far apart are no reason to give up", async () => {
  let now = 0;
  const { cycle } = make(undefined, () => now);
  await cycle.restart();
  for (let i = 0; i < 10; i++) {
    now += 100_000;
    const before = cycle.server;
    before?.crash();
    await until(() => cycle.server !== undefined && cycle.server !== before);
  }
  assert.equal(cycle.state.name, "running");
});
