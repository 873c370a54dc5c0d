/** Loaded before the product: its clock is off by `CHAOS_CLOCK_SHIFT_MS`. Timers run as they should. */
const shiftMs = Number(process.env['CHAOS_CLOCK_SHIFT_MS'] ?? 0);
const Real = Date;

class Shifted extends Real {
  constructor(...args: [] | [value: number | string | Date]) {
    if (args.length === 0) super(Real.now() + shiftMs);
    else super(...args);
  }
  static override now(): number {
    return Real.now() + shiftMs;
  }
}

// Some tell a date by the name of its class.
Object.defineProperty(Shifted, 'name', { value: 'Date' });
globalThis.Date = Shifted as DateConstructor;
