# -*- coding: utf-8 -*-
_ANSIBALLZ_WRAPPER = True
def _ansiballz_main(zip_data: str, ansible_module: str, params: str, profile: str, date_time, extensions: dict) -> None:
    import os.path
if __name__ == "__main__":
    _ansiballz_main(
        zip_data='UEsDBBQAAAAIAAAAIQAAAAAAAgAAAAAAAAATAAAAYW5zaWJsZS9fX2luaXRfXy5weQMAUEsDBBQAAAAIAAAAIQABZMwZHQAAAB4AAAAdAAAAYW5zaWJsZS9tb2R1bGVfdXRpbHMvYmFzaWMucHlLzkksLlZwzCvOTMpJ9c1PKc1JteJSAIICoDgXAFBLAwQUAAAACAAAACEAUe60HjwAAABBAAAAFwAAAGFuc2libGUvbW9kdWxlcy9waW5nLnB5SyvKz1VIzCvOTMpJ1cvNTynNSY0vLcnMKdZLSizOTFbIzC3ILypRcISo8AUr4Cooyswr0VCqrlXS5AIAUEsBAhQDFAAAAAgAAAAhAAAAAAACAAAAAAAAABMAAAAAAAAAAAAAAIABAAAAAGFuc2libGUvX19pbml0X18ucHlQSwECFAMUAAAACAAAACEAAWTMGR0AAAAeAAAAHQAAAAAAAAAAAAAAgAEzAAAAYW5zaWJsZS9tb2R1bGVfdXRpbHMvYmFzaWMucHlQSwECFAMUAAAACAAAACEAUe60HjwAAABBAAAAFwAAAAAAAAAAAAAAgAGLAAAAYW5zaWJsZS9tb2R1bGVzL3BpbmcucHlQSwUGAAAAAAMAAwDRAAAA/AAAAAAA',
        ansible_module='ping',
        module_fqn='ansible.modules.ping',
        params='{"ANSIBLE_MODULE_ARGS": {"data": "it\'s \\"x\\"", "_ansible_check_mode": false, "_ansible_version": "2.19.14"}}',
        profile='legacy',
        date_time=(2026, 1, 2, 3, 4, 5),
        extensions={},
        rlimit_nofile=0,
    )
