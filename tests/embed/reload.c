/* Loads and closes two libraries again and again, while threads call them. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

static void* work(void* path) {
  int i;
  for (i = 0; i < 200; ++i) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int (*create)(int64_t, void**);
    void (*close)(void*);
    void* handle = NULL;
    if (!library) return dlerror();
    *(void**)&create = dlsym(library, "mlp_create");
    *(void**)&close = dlsym(library, "mlp_Model_close");
    if (!create) {
      int (*stop)(int64_t, int64_t*);
      int64_t n;
      *(void**)&stop = dlsym(library, "plain_stop");
      if (!stop || stop(3, &n) != 3) return "plain_stop";
    } else {
      if (create(i, &handle)) return "mlp_create";
      close(handle);
    }
    dlclose(library);
  }
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t threads[4];
  int i, failed = argc != 3;
  for (i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, work, argv[1 + i % 2]);
  for (i = 0; i < 4; ++i) {
    void* said = NULL;
    pthread_join(threads[i], &said);
    if (said) failed = 1, puts(said);
  }
  if (!failed) puts("OK");
  return failed;
}
