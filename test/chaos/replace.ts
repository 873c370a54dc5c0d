/** Puts something else in the place of what a module of the product exports, for every importer after this. */

/** @throws Error when the module does not export such a name (any more): a fault that replaces nothing proves nothing */
export function replace<Module extends object>(module: Module, others: Partial<NoInfer<Module>>): void {
  for (const name of Object.keys(others)) {
    if (!(name in module)) throw new Error(`nothing is exported as ${name}`);
  }
  Object.assign(module, others);
}
