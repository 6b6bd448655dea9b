// What has something to give back when it goes.

export interface Owned {
  dispose(): unknown;
}

/** Gives back what it owns, the newest first. */
export class Owner {
  private readonly things: Owned[] = [];

  dispose(): void {
    for (const thing of this.things.splice(0).reverse()) {
      thing.dispose();
    }
  }

  protected own<T extends Owned>(thing: T): T {
    this.things.push(thing);
    return thing;
  }
}
