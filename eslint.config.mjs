import tseslint from 'typescript-eslint';

/** What a workflow file may import: anything else could bring time, randomness or input/output into replay. */
const pureImports = {
  patterns: [
    {
      regex: '^(?!\\.\\.?/|@temporalio/(workflow|common)$|@noble/hashes/|big\\.js$).*',
      message: 'Workflow code may import only @temporalio/workflow, @temporalio/common and the pure files.',
    },
    {
      regex: '^\\.\\./(?!commands$|decisions$|markdown$|activities$|activities/)',
      message:
        'Workflow code imports only commands.ts, decisions.ts, markdown.ts and the types of activities.',
    },
    { regex: '^\\.\\./activities', allowTypeImports: true, message: 'Import only types from activities.' },
  ],
};

/** All workflows of a process share the modules of workflow code: what one of them keeps, another one would see. */
const stateOfModules = [
  ':matches(Program, Program > ExportNamedDeclaration) > VariableDeclaration[kind!="const"]',
  ':matches(Program, Program > ExportNamedDeclaration) > VariableDeclaration > VariableDeclarator > NewExpression[callee.name=/^(Map|Set|WeakMap|WeakSet|Array)$/]',
].map((selector) => ({ selector, message: 'A module of workflow code keeps no state.' }));

export default tseslint.config(
  { ignores: ['dist/', 'node_modules/', '.stack/'] },
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        projectService: { allowDefaultProject: ['*.mjs', '*.js'] },
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
    },
  },
  {
    files: ['workflows/**/*.ts', 'commands.ts', 'decisions.ts', 'markdown.ts'],
    rules: {
      '@typescript-eslint/no-restricted-imports': ['error', pureImports],
      'no-restricted-syntax': ['error', ...stateOfModules],
    },
  },
  {
    // Parallel operations in one MongoDB transaction are undefined (field reports: wrong transaction number).
    files: ['activities/**/*.ts'],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'Promise', property: 'all', message: 'One transaction runs one operation at a time.' },
        {
          object: 'Promise',
          property: 'allSettled',
          message: 'One transaction runs one operation at a time.',
        },
      ],
    },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
    },
  },
  { files: ['**/*.mjs', '**/*.js'], extends: [tseslint.configs.disableTypeChecked] },
);
