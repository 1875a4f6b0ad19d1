/** What the page knows, in one place; whoever depends on a part of it is told when that part changes. */

export class Store {
  #values = {};
  #listeners = [];

  constructor(values) {
    this.#values = values;
  }

  get(name) {
    return this.#values[name];
  }

  /** Change some values; each listener of any of them is called once. */
  set(changes) {
    const changed = Object.keys(changes).filter((name) => this.#values[name] !== changes[name]);
    Object.assign(this.#values, changes);
    for (const { names, listener } of this.#listeners) {
      if (names.some((name) => changed.includes(name))) listener(this.#values);
    }
  }

  /** Call `listener(values)` now and whenever one of the named values changes. */
  on(names, listener) {
    this.#listeners.push({ names, listener });
    listener(this.#values);
  }
}
